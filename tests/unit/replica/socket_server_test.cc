#include "socket_server.h"

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "connect_to.h"
#include "eventually.h"
#include "quarry/base/socket.h"
#include "quarry/base/transfer.h"
#include "quarry/control/publication.h"
#include "temporary_folder.h"

using namespace quarry;
using replica::SocketServer;

namespace {

struct Server {
  Server() {
    auto listener = base::listen_on(address);
    REQUIRE(listener);
    auto created = SocketServer::create(
        std::move(*listener),
        [this](std::string_view request, SocketServer::Answer answer) {
          const std::lock_guard lock(mutex);
          if (request == "wait") return waiting.push_back(std::move(answer));
          answer(std::string(request));
        },
        {.max_clients = 8, .max_request = 100, .time_out = kPatienceTime * 10});
    REQUIRE(created);
    thread = std::thread(
        [this, server = std::move(*created)] { server->run(stop.get(), [] { return false; }); });
  }
  ~Server() { end(); }

  void end() {
    if (!thread.joinable()) return;
    const std::uint64_t one = 1;
    (void)!::write(stop.get(), &one, sizeof one);
    thread.join();
  }
  base::Fd send(std::string_view text) {
    auto client = connect_to(address);
    REQUIRE(client);
    REQUIRE(base::write_all(client->get(), text));
    return std::move(*client);
  }
  static std::string read(const base::Fd& client) {
    std::string text;
    char bytes[4096];
    for (;;) {
      const ssize_t count =
          base::without_interruption([&] { return ::read(client.get(), bytes, sizeof bytes); });
      if (count <= 0) return text;
      text.append(bytes, static_cast<std::size_t>(count));
    }
  }
  std::size_t count_waiting() {
    const std::lock_guard lock(mutex);
    return waiting.size();
  }

  TemporaryFolder folder;
  base::SocketAddress address = *base::SocketAddress::parse((folder / "socket").string());
  base::Fd stop{::eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex;
  std::vector<SocketServer::Answer> waiting;
  std::thread thread;
};

}  // namespace

TEST_CASE_FIXTURE(Server, "a request gets one answer") {
  CHECK(read(send("status\n")) == "ok status\n");
  CHECK(read(send("one\ntwo\n")) == "ok one\n");
  const base::Fd slow = send("sta");
  CHECK(read(send("status\n")) == "ok status\n");
  REQUIRE(base::write_all(slow.get(), "tus\n"));
  CHECK(read(slow) == "ok status\n");
}

TEST_CASE_FIXTURE(Server, "a request that is too long is refused, with and without a newline") {
  CHECK(read(send(std::string(101, 'x'))) == "error the request is too long\n");
  CHECK(read(send(std::string(101, 'x') + "\n")) == "error the request is too long\n");
  CHECK(read(send(std::string(100, 'x') + "\n")) == "ok " + std::string(100, 'x') + "\n");
}

TEST_CASE_FIXTURE(Server, "clients with incomplete requests are disconnected to make room") {
  std::vector<base::Fd> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(send("x"));
  CHECK(read(send("status\n")) == "ok status\n");
}

TEST_CASE_FIXTURE(Server, "a waiting client is not disconnected, and makes room when it leaves") {
  std::vector<base::Fd> waiting_clients;
  for (int i = 0; i < 8; ++i) waiting_clients.push_back(send("wait\n"));
  CHECK(eventually([&] { return count_waiting() == 8; }));
  const base::Fd ninth = send("status\n");
  waiting_clients.front().reset();
  CHECK(read(ninth) == "ok status\n");
  for (const SocketServer::Answer& answer : waiting) answer(std::string("{}"));
  for (std::size_t i = 1; i < 8; ++i) CHECK(read(waiting_clients[i]) == "ok {}\n");
}

TEST_CASE_FIXTURE(
    Server,
    "waiting clients are disconnected when the server stops, and late answers are dropped") {
  const base::Fd client = send("wait\n");
  CHECK(eventually([&] { return count_waiting() == 1; }));
  end();
  CHECK(read(client).empty());
  waiting.front()(std::string("late"));
}
