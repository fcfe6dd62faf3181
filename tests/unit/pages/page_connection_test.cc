#include "connection/page_connection.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "quarry/http/fastcgi.h"

using namespace quarry;
using namespace quarry::pages;

namespace {

/// A web server that reads only when the test reads, and our connection to it.
class WebServer final : private PageConnection::Owner {
 public:
  explicit WebServer(std::chrono::milliseconds timeout = std::chrono::minutes(10)) {
    options.timeout = timeout;
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    socket = base::Fd(ends[0]);
    PageConnection::Owner& owner = *this;
    connection =
        std::make_unique<PageConnection>(loop.get(), base::Fd(ends[1]), options, held, owner);
    REQUIRE(connection->is_valid());
  }

  void ask() {
    std::string bytes;
    http::append_record(bytes, FCGI_BEGIN_REQUEST, 1, http::begin_content());
    http::append_record(bytes, FCGI_PARAMS, 1, {});
    http::append_record(bytes, FCGI_STDIN, 1, {});
    REQUIRE(::write(socket.get(), bytes.data(), bytes.size()) ==
            static_cast<ssize_t>(bytes.size()));
    turn();
  }
  /// Runs the loop until the connection is waiting.
  void turn() {
    for (int i = 0; i < 100; ++i) event_base_loop(loop.get(), EVLOOP_NONBLOCK);
  }
  /// Returns the content of the reply's records. Requires that the connection is then closed.
  std::string rest() {
    std::string output;
    http::RecordReader reader;
    std::array<char, 16384> buffer{};
    bool has_ended = false;
    while (connection != nullptr || !has_ended) {
      const ssize_t size = ::read(socket.get(), buffer.data(), buffer.size());
      turn();
      if (size < 0) continue;
      has_ended = size == 0;
      std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
      while (const auto part = reader.next(bytes)) {
        if (part->header.type == FCGI_STDOUT) output += part->content;
      }
    }
    return output;
  }

  Options options;
  std::size_t held = 0;
  base::EventBasePtr loop{event_base_new()};
  base::Fd socket;
  std::unique_ptr<PageConnection> connection;
  int requests = 0;

 private:
  void on_request(PageConnection&, bool) override { ++requests; }
  void on_drained(PageConnection&) override {}
  void on_gone(PageConnection&) override { connection.reset(); }
};

std::shared_ptr<const CachedPage> cached_page(const std::string& body) {
  return CachedPage::make(
      {.status = 200, .reason = "OK", .fields = {}, .content_length = body.size()}, body);
}

std::string varied(std::size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size()) + " ";
  return text;
}

}  // namespace

TEST_CASE("a shared page is not copied, counts once for all its readers, and arrives complete") {
  const std::string body = varied(5'000'000);
  const auto page = cached_page(body);
  std::array<WebServer, 2> servers;
  for (WebServer& server : servers) {
    server.ask();
    REQUIRE(server.requests == 1);
    server.connection->begin(200, "head ");
    server.connection->add(page, page->reply({}).body);
    server.connection->end();
    server.turn();
    CHECK(server.connection->unsent() > 4'000'000);
  }
  // The two connections and the test itself share the page, so each connection counts a third of
  // the page's size.
  CHECK(servers[0].connection->memory() == page->size() / 3);
  for (WebServer& server : servers) CHECK(server.rest() == "head " + body);
  CHECK(page.use_count() == 1);
}

TEST_CASE("small and own parts of a page arrive in order") {
  const std::string nonce(48, 'n');
  std::string body;
  for (int i = 0; i < 20; ++i) body += varied(static_cast<std::size_t>(i) * 997) + nonce;
  const auto page =
      CachedPage::make({.status = 200,
                        .reason = "OK",
                        .fields = {{"Content-Security-Policy", "script-src 'nonce-" + nonce + "'"}},
                        .content_length = body.size()},
                       body);
  REQUIRE(page);
  WebServer server;
  server.ask();
  const auto reply = page->reply({});
  std::string expected;
  for (const BodyPart& part : reply.body) expected += part.bytes();
  server.connection->begin(200, "head ");
  server.connection->add(page, reply.body);
  server.connection->end();
  CHECK(server.rest() == "head " + expected);
}

TEST_CASE("the buffers of an unread page take little more memory than its bytes") {
  // fossil's output arrives in pieces of some kilobytes, and each is read into its own buffer.
  constexpr std::size_t kSize = 4'000'000;
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const base::Fd output(ends[0]);
  const base::Fd input(ends[1]);
  const std::string piece(4096, 'x');
  const base::EventBufferPtr body(evbuffer_new());
  WebServer server;
  server.ask();
  server.connection->begin(200, "head ");
  const std::size_t before = ::mallinfo2().uordblks;
  while (server.connection->replied() < kSize) {
    REQUIRE(::write(input.get(), piece.data(), piece.size()) == 4096);
    REQUIRE(evbuffer_read(body.get(), output.get(), 16384) == 4096);
    server.connection->add(body.get());
    REQUIRE(evbuffer_get_length(body.get()) == 0);
  }
  CHECK(::mallinfo2().uordblks - before < server.connection->unsent() * 11 / 10);
}

TEST_CASE("a web server that reads nothing for the timeout is disconnected") {
  WebServer server(std::chrono::milliseconds(50));
  server.ask();
  server.connection->begin(200, "head ");
  server.connection->add(std::string(1'000'000, 'x'));
  while (server.connection != nullptr) event_base_loop(server.loop.get(), EVLOOP_ONCE);
}

TEST_CASE("a web server that reads slowly is disconnected only when it stops reading") {
  WebServer server(std::chrono::milliseconds(300));
  server.ask();
  server.connection->begin(200, "head ");
  server.connection->add(std::string(1'000'000, 'x'));
  server.turn();
  // The socket's buffer is too full to accept more bytes in this loop, so the timeout is the only
  // event.
  for (int i = 0; i < 4; ++i) {
    event_base_loop(server.loop.get(), EVLOOP_ONCE);
    REQUIRE(server.connection != nullptr);
    std::array<char, 20'000> buffer{};
    REQUIRE(::read(server.socket.get(), buffer.data(), buffer.size()) > 0);
  }
  while (server.connection != nullptr) event_base_loop(server.loop.get(), EVLOOP_ONCE);
}
