#include "request_loop.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <stdexcept>
#include <string>

#include "eventually.h"
#include "fastcgi/fastcgi_exchange.h"
#include "fastcgi/stop_signal.h"
#include "fastcgi_client.h"
#include "fastcgi_records.h"
#include "quarry/base/log.h"
#include "world.h"

using namespace quarry::worker;
using namespace std::chrono_literals;
using fastcgi_records::record;
using quarry::base::SocketAddress;
using RequestStage = quarry::scoreboard::Stage;
using worker_test::Client;
using worker_test::post;
using worker_test::request;

namespace {

/// Reads the body in pieces and checks their sizes. Replies with the size of the body.
Reply take_in_pieces(BodyReader& reader, std::size_t size) {
  std::size_t total = 0, largest = 0;
  const auto done = reader.read_into(
      [&](std::string_view bytes) -> quarry::base::Result<void> {
        total += bytes.size();
        largest = std::max(largest, bytes.size());
        return {};
      },
      size);
  if (!done) return text_reply(400, done.error().message);
  return text_reply(200,
                    "took " + std::to_string(total) +
                        (largest <= 1048576 ? ", no more than 1048576 at once" : ", too much"));
}

/// A handler that replies with the path, the length of the body and its last byte. Some paths have
/// other effects.
class Echo : public Handler {
 public:
  Reply answer(const Request& request, BodyReader& reader,
               quarry::scoreboard::Slot& slot) override {
    slot.executing("echo");
    if (request.path() == "/throw") throw std::runtime_error("thrown on purpose");
    if (request.path() == "/unread") return text_reply(413, "too large");
    if (request.path() == "/large") return text_reply(200, std::string(3000000, 'l'));
    const std::size_t size = std::stoul("0" + std::string(request.content_length));
    if (request.path() == "/pieces") return take_in_pieces(reader, size);
    const auto body = reader.read(size);
    if (!body) return text_reply(400, body.error().message);
    if (request.path() == "/wait") return wait(request, slot, 10000);
    if (request.path() == "/moment") return wait(request, slot, 200);
    return text_reply(200, std::string(request.path()) + " " + std::to_string(body->size()) + " " +
                               (body->empty() ? "-" : body->substr(body->size() - 1)));
  }

  /// Waits for MILLISECONDS, or until the web server has disconnected.
  static Reply wait(const Request& request, quarry::scoreboard::Slot& slot, int milliseconds) {
    slot.executing("at work");
    for (int i = 0; i < milliseconds; ++i) {
      if (request.has_left()) {
        slot.executing("left");
        return text_reply(200, "left");
      }
      if (i == 100) slot.executing("still at work");
      ::usleep(1000);
    }
    return text_reply(200, "nobody left");
  }
};

/// A worker with an Echo handler in a child process.
class Server {
 public:
  explicit Server(LoopOptions options = {}, bool on_tcp = false)
      : board_(*quarry::scoreboard::Board::create("test", 1)), address_(listen(on_tcp)) {
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    quarry::base::set_log_level(quarry::base::LogLevel::kAlert);
    REQUIRE(start_fastcgi());
    REQUIRE(watch_stop_signals());
    auto acceptor = Acceptor::create(listener_.get(), stop_descriptor(), -1, {});
    REQUIRE(acceptor);
    Echo echo;
    auto slot = board_.slot(0);
    slot.child_started();
    serve_requests(*acceptor, echo, slot, options);
    ::_exit(0);
  }
  ~Server() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  const SocketAddress& address() const { return address_; }
  quarry::scoreboard::SlotState state() const { return board_.read(0).state; }
  /// Connects and sends BYTES.
  Client sent(std::string_view bytes) const {
    Client client(address_);
    client.send(bytes);
    return client;
  }
  std::string ask(std::string_view path, std::string_view body = {}) const {
    return sent(request(post(path, body), body)).reply();
  }
  bool is_alive() const { return ask("/after").contains("/after 0 -"); }
  void signal(int number) const { ::kill(pid_, number); }
  /// Waits until the process exits, and returns its exit status. If NUMBER is not 0, sends this
  /// signal repeatedly until the process exits.
  int wait_for_end(int number = 0) {
    int status = -1;
    REQUIRE(eventually([&] {
      ::kill(pid_, number);
      return ::waitpid(pid_, &status, WNOHANG) == pid_;
    }));
    pid_ = -1;
    return status;
  }

 private:
  SocketAddress listen(bool on_tcp) {
    if (!on_tcp) {
      auto address = SocketAddress::parse(world_.path("socket").string());
      listener_ = std::move(*quarry::base::listen_on(*address));
      return *address;
    }
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const auto any = SocketAddress::parse_ip("127.0.0.1");
    REQUIRE(::bind(listener_.get(), any->get(), any->size()) == 0);
    REQUIRE(::listen(listener_.get(), 10) == 0);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    return *SocketAddress::of(reinterpret_cast<sockaddr*>(&bound), size);
  }

  worker_test::World world_;
  quarry::base::Fd listener_;
  quarry::scoreboard::Board board_;
  SocketAddress address_;
  pid_t pid_ = -1;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("one process answers many requests, large and small") {
  const Server server;
  for (int i = 0; i < 200; ++i) {
    const std::string reply = server.ask("/a", "xyz");
    CHECK(has(reply, "Status: 200 OK\r\n"));
    CHECK(has(reply, "Content-Length: 7\r\n"));
    CHECK(has(reply, "\r\n\r\n/a 3 z\n"));
  }
  CHECK(has(server.ask("/b"), "/b 0 -"));
  CHECK(has(server.ask("/b", std::string(5000000, 'q')), "/b 5000000 q"));
  CHECK(server.ask("/large").size() > 3000000);
  CHECK(server.state().requests >= 202);
  CHECK(server.state().repository.view() == "echo");
}

TEST_CASE("a request that arrives in pieces is assembled") {
  const Server server;
  const std::string bytes = request(post("/slow", "body"), "body");
  Client client(server.address());
  for (std::size_t at = 0; at < bytes.size(); at += 50) {
    client.send(std::string_view(bytes).substr(at, 50));
    ::usleep(1000);
  }
  CHECK(has(client.reply(), "/slow 4 y"));
}

TEST_CASE("kept connections and new ones are all served by one process") {
  const Server server;
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) clients.emplace_back(server.address());
  for (int round = 0; round < 5; ++round) {
    for (Client& client : clients) {
      client.send(request(post("/k", "1"), "1", true));
      CHECK(has(client.reply(), "/k 1 1"));
    }
    CHECK(has(server.ask("/new"), "/new 0 -"));
  }
}

TEST_CASE("a connection that ends inside its request is closed") {
  const Server server;
  const std::string bytes = request(post("/cut", "body"), "body");
  const auto cut = [&](std::size_t size) {
    Client client = server.sent(std::string_view(bytes).substr(0, size));
    client.end_sending();
    return client;
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{60}}) {
    CHECK(cut(size).is_closed());
  }
  CHECK(has(cut(bytes.size() - 10).reply(), "Status: 400 Bad Request"));
  CHECK(server.is_alive());
}

TEST_CASE("a body whose length differs from the declared one is a bad request") {
  const Server server;
  CHECK(has(server.sent(request(post("/x", "1234"), "123")).reply(), "Status: 400"));
  CHECK(has(server.sent(request(post("/x", "1234"), "12345")).reply(), "Status: 400"));
  // The worker must not allocate memory for the declared size.
  auto params = post("/x", "");
  params[4].second = "400000000000";
  CHECK(has(server.sent(request(params, std::string(1000, 'x'))).reply(),
            "the body ended after 1000 of 400000000000 bytes"));
}

TEST_CASE("a body read in pieces is complete, and never in memory as a whole") {
  const Server server;
  for (const std::size_t size : {0UL, 1UL, 1UL << 20, (1UL << 20) + 1, 5000000UL}) {
    CHECK(has(server.ask("/pieces", std::string(size, 'x')),
              "took " + std::to_string(size) + ", no more than 1048576 at once"));
  }
  auto params = post("/pieces", std::string(1000, 'x'));
  params[4].second = "2000000";
  CHECK(has(server.sent(request(params, std::string(1000, 'x'))).reply(),
            "the body ended after 1000 of 2000000 bytes"));
  CHECK(server.is_alive());
}

TEST_CASE("a reply reaches a web server that is still sending an unread body") {
  const Server server;
  CHECK(has(server.ask("/unread", std::string(1000000, 'x')), "Status: 413 Content Too Large"));
  CHECK(server.is_alive());
}

TEST_CASE("an exception in a handler results in a 500, and the worker continues") {
  const Server server;
  const std::string reply = server.ask("/throw");
  CHECK(has(reply, "Status: 500"));
  CHECK_FALSE(has(reply, "on purpose"));
  CHECK(server.is_alive());
}

TEST_CASE("a silent web server is disconnected after the timeout") {
  LoopOptions options;
  options.timeouts = {1s, 1s};
  const Server server(options);
  const std::string bytes = request(post("/x", "body"), "body");
  CHECK(server.sent(std::string_view(bytes).substr(0, 40)).is_closed());
  CHECK(has(server.sent(std::string_view(bytes).substr(0, bytes.size() - 10)).reply(),
            "Status: 400"));
}

TEST_CASE(
    "a handler learns that the web server has closed the connection, on either kind of socket") {
  for (const bool on_tcp : {false, true}) {
    CAPTURE(on_tcp);
    const Server server({}, on_tcp);
    const auto is_at = [&](std::string_view what) {
      return eventually([&] { return server.state().repository.view() == what; });
    };
    {
      Client client = server.sent(request(post("/wait", "body"), "body"));
      REQUIRE(is_at("still at work"));
    }
    CHECK(is_at("left"));
    CHECK(server.is_alive());
  }
}

TEST_CASE("a handler learns that its request was aborted, and the connection can be reused") {
  const Server server;
  Client client = server.sent(request(post("/wait", "body"), "body", true));
  REQUIRE(eventually([&] { return server.state().repository.view() == "still at work"; }));
  client.send(record(FCGI_ABORT_REQUEST, ""));
  CHECK(has(client.reply(), "\r\n\r\nleft"));
  client.send(request(post("/k", "1"), "1", true));
  CHECK(has(client.reply(), "/k 1 1"));
}

TEST_CASE("neither half-closing nor another request's abort counts as disconnecting") {
  const Server server;
  Client client =
      server.sent(request(post("/moment", "body"), "body") + record(FCGI_ABORT_REQUEST, "", 0, 7));
  client.end_sending();
  CHECK(has(client.reply(), "nobody left"));
}

TEST_CASE("on SIGQUIT the in-flight request is still received and answered") {
  Server server;
  const std::string body(2000000, 'x');
  const std::string bytes = request(post("/slow", body), body);
  Client client = server.sent(std::string_view(bytes).substr(0, 1000000));
  REQUIRE(eventually([&] { return server.state().stage == RequestStage::kExecuting; }));
  server.signal(SIGQUIT);
  client.send(std::string_view(bytes).substr(1000000));
  CHECK(has(client.reply(), "/slow 2000000 x"));
  CHECK(server.wait_for_end() == 0);
}

TEST_CASE("SIGTERM ends a worker that waits for a connection or for the rest of a request") {
  const std::string bytes = request(post("/slow", "body"), "body");
  for (const std::size_t come : {std::size_t{0}, std::size_t{60}, bytes.size() - 10}) {
    CAPTURE(come);
    Server server;
    CHECK(has(server.ask("/a"), "/a 0 -"));
    Client client = server.sent(std::string_view(bytes).substr(0, come));
    const RequestStage stage =
        come == 60 ? RequestStage::kReadingHeaders : RequestStage::kExecuting;
    REQUIRE(eventually([&] { return come == 0 || server.state().stage == stage; }));
    CHECK(server.wait_for_end(SIGTERM) == 0);
  }
}

TEST_CASE("SIGTERM ends a worker whose reply is not read") {
  Server server;
  Client client = server.sent(request(post("/large", "")));
  REQUIRE(eventually([&] { return server.state().stage == RequestStage::kEnd; }));
  // A signal that arrives just before the worker begins to wait has no effect, so the test sends it
  // repeatedly.
  CHECK(server.wait_for_end(SIGTERM) == 0);
}
