#include "control_server.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "connect_to.h"
#include "quarry/base/socket.h"
#include "temporary_folder.h"

using namespace quarry::master;
using quarry::base::Fd;
using quarry::control::Question;

namespace {

/// Runs a control server, whose event loop advances only in run().
class ControlWorld {
 public:
  explicit ControlWorld(std::string answer = "answer\n") : base_(::event_base_new()) {
    auto listener = quarry::base::listen_on(address());
    REQUIRE(listener);
    listener_ = std::move(*listener);
    server_ = std::make_unique<ControlServer>(base_.get(), listener_.get(),
                                              [this, text = std::move(answer)](Question question) {
                                                asked_.push_back(question);
                                                return text;
                                              });
  }

  Fd connect() const {
    auto fd = connect_to(address());
    REQUIRE(fd);
    return std::move(*fd);
  }
  void run() {
    for (int i = 0; i < 5; ++i) ::event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  }
  const std::vector<Question>& asked() const { return asked_; }

 private:
  quarry::base::SocketAddress address() const {
    return *quarry::base::SocketAddress::parse((folder_ / "socket").string());
  }

  TemporaryFolder folder_;
  quarry::base::EventBasePtr base_;
  Fd listener_;
  std::vector<Question> asked_;
  std::unique_ptr<ControlServer> server_;
};

void say(const Fd& fd, std::string_view text) {
  REQUIRE(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(text.size()));
}

/// Returns the bytes that have been received so far.
std::string heard(const Fd& fd) {
  std::string text;
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

bool is_open(const Fd& fd) {
  char byte = 0;
  const ssize_t size = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return size > 0 || (size < 0 && errno == EAGAIN);
}

}  // namespace

TEST_CASE_FIXTURE(ControlWorld, "a question is answered, and then the connection is closed") {
  const Fd client = connect();
  say(client, "status full\n");
  run();
  CHECK(heard(client) == "answer\n");
  CHECK_FALSE(is_open(client));
  CHECK(asked() == std::vector{Question::kFullStatus});
}

TEST_CASE_FIXTURE(ControlWorld,
                  "a question may arrive in pieces, and an incomplete one is not answered") {
  const Fd slow = connect();
  const Fd half = connect();
  for (const std::string_view piece : {"st", "at", "us", "\n"}) {
    run();
    CHECK(asked().empty());
    say(slow, piece);
  }
  say(half, "status");
  run();
  CHECK(heard(slow) == "answer\n");
  CHECK(is_open(half));
  ::shutdown(half.get(), SHUT_WR);
  run();
  CHECK(heard(half).empty());
  CHECK_FALSE(is_open(half));
  CHECK(asked().size() == 1);
}

TEST_CASE_FIXTURE(ControlWorld,
                  "input that is not a question is refused, no matter how long it is") {
  for (const std::string& text :
       {std::string("stop\n"), std::string("\0\n", 2), std::string("\n"), std::string(10000, 'x'),
        "status" + std::string(60, ' ') + "\n"}) {
    const Fd client = connect();
    say(client, text);
    run();
    CHECK(heard(client) == "{\"error\":\"unknown request\"}\n");
    CHECK_FALSE(is_open(client));
  }
  CHECK(asked().empty());
}

TEST_CASE("an answer larger than the socket's buffer arrives complete") {
  const std::string large(3'000'000, 'a');
  ControlWorld world(large);
  const Fd client = world.connect();
  say(client, "status\n");
  std::string answer;
  while (answer.size() < large.size()) {
    const std::size_t before = answer.size();
    world.run();
    answer += heard(client);
    REQUIRE(answer.size() > before);
  }
  world.run();
  CHECK(answer == large);
  CHECK_FALSE(is_open(client));
}

TEST_CASE(
    "silent clients are closed for new ones, oldest first, but not one that gets its answer") {
  ControlWorld world(std::string(3'000'000, 'a'));
  const Fd reader = world.connect();
  say(reader, "status\n");
  world.run();
  std::vector<Fd> silent;
  for (std::size_t i = 0; i + 1 < ControlServer::kMaxClients; ++i) {
    silent.push_back(world.connect());
  }
  world.run();
  for (const Fd& each : silent) CHECK(is_open(each));
  const Fd another = world.connect();
  say(another, "status\n");
  world.run();
  CHECK_FALSE(heard(another).empty());
  CHECK(is_open(reader));
  CHECK_FALSE(is_open(silent.front()));
  for (std::size_t i = 1; i < silent.size(); ++i) CHECK(is_open(silent[i]));
}
