#include "quarry/gateway/gateway.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <semaphore>
#include <string>
#include <thread>

#include "connect_to.h"
#include "eventually.h"
#include "fastcgi_records.h"
#include "world.h"

using fastcgi_records::end_record;
using fastcgi_records::record;
using namespace quarry::gateway;
using namespace quarry::gateway::testing;
using namespace std::chrono_literals;

namespace {

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// Returns the parameters that the pool receives for REQUEST, each in the form "\nNAME=VALUE\n".
std::string params_of(const World& world, std::string_view request) {
  const std::string reply = ask(world.gateway, request);
  CHECK(reply.starts_with(kOk));
  CHECK(reply.contains("Content-Type: text/x-echo\r\n"));
  return "\n" + body_of(reply);
}

/// Announces LENGTH bytes in the header, sends the first 500,000 of them, and calls THEN.
Pool::Serve beginning(std::size_t length, std::function<void(int connection)> then) {
  return [length, then](int connection) {
    Pool::read_request(connection);
    std::string bytes = fmt::format("Content-Length: {}\r\n\r\n", length) + some_bytes(500'000);
    for (std::string_view left = bytes; !left.empty();) {
      const std::string_view piece = left.substr(0, 50'000);
      Pool::write(connection, record(FCGI_STDOUT, piece));
      left.remove_prefix(piece.size());
    }
    then(connection);
  };
}

}  // namespace

TEST_CASE("the pool gets the request as CGI variables") {
  const World world;
  const std::string port = std::to_string(world.gateway.port());
  struct Case {
    std::string request;
    std::vector<std::string> params;
    std::vector<std::string> absent = {};
  };
  for (const Case& one :
       {Case{get("/a%20b/c?x=%20&y",
                 "X-Two: 1\r\nx-two: 2\r\nCookie: a\r\nCookie: b\r\n"
                 "Proxy: evil\r\nX_Odd: 1\r\nRemote-User: root\r\nX-Forwarded-Proto: https\r\n"),
             {"REQUEST_URI=/a%20b/c?x=%20&y", "PATH_INFO=/a b/c",
              "SCRIPT_NAME=", "QUERY_STRING=x=%20&y", "REQUEST_METHOD=GET", "REQUEST_SCHEME=http",
              "SERVER_PROTOCOL=HTTP/1.1", "SERVER_NAME=h", "SERVER_PORT=" + port,
              "REMOTE_ADDR=127.0.0.1", "HTTP_X_TWO=1, 2", "HTTP_COOKIE=a; b"},
             {"HTTP_PROXY", "X_ODD", "\nREMOTE_USER=", "X_FORWARDED_PROTO"}},
        Case{"GET HTTP://other:80/a?b HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
             {"REQUEST_URI=/a?b", "PATH_INFO=/a", "SERVER_NAME=[::1]"}},
        Case{get("http://other"), {"PATH_INFO=/"}},
        Case{get("/a/../%2e%2e//b/."), {"PATH_INFO=/a/../..//b/."}},
        Case{post("", "Content-Type: a/b\r\n"), {"CONTENT_LENGTH=0", "CONTENT_TYPE=a/b"}}}) {
    CAPTURE(one.request);
    const std::string params = params_of(world, one.request);
    for (const std::string& each : one.params) CHECK(params.contains("\n" + each + "\n"));
    for (const std::string& each : one.absent) CHECK_FALSE(params.contains(each));
  }
}

TEST_CASE("X-Forwarded-Proto and X-Forwarded-For count only from trusted proxies") {
  const World strict;
  const World trusts(serve_echo, {.trusted_proxies = set_of({"127.0.0.1", "10.0.0.0/8"})});
  const std::string secure = params_of(trusts, get("/", "X-Forwarded-Proto: https\r\n"));
  CHECK(secure.contains("\nREQUEST_SCHEME=https\n"));
  CHECK(secure.contains("\nHTTPS=on\n"));
  const auto address = [](const World& world, std::string_view value) {
    const std::string params =
        params_of(world, get("/", fmt::format("X-Forwarded-For: {}\r\n", value)));
    const std::size_t at = params.find("\nREMOTE_ADDR=") + 13;
    return params.substr(at, params.find('\n', at) - at);
  };
  CHECK(address(strict, "203.0.113.9") == "127.0.0.1");
  CHECK(address(trusts, "203.0.113.9") == "203.0.113.9");
  CHECK(address(trusts, "1.1.1.1, 203.0.113.9, 10.2.3.4") == "203.0.113.9");
  CHECK(address(trusts, "1.1.1.1\r\nX-Forwarded-For: 203.0.113.9,10.2.3.4") == "203.0.113.9");
  CHECK(address(trusts, "10.1.1.1, 10.2.3.4") == "10.1.1.1");
  CHECK(address(trusts, "203.0.113.9:4711") == "203.0.113.9");
  CHECK(address(trusts, "[2001:db8::1]:4711") == "2001:db8::1");
  CHECK(address(trusts, "2001:db8::2") == "2001:db8::2");
  CHECK(address(trusts, "1.1.1.1, unknown") == "127.0.0.1");
  CHECK(address(trusts, "1.1.1.1, unknown, 10.2.3.4") == "10.2.3.4");
  CHECK(address(trusts, "") == "127.0.0.1");
}

TEST_CASE("HTTP/1.1 keeps the connection alive, HTTP/1.0 only on request") {
  const World world;
  Client kept(world.gateway);
  for (int i = 0; i < 3; ++i) CHECK(kept.is_served());
  Client asked(world.gateway);
  for (int i = 0; i < 2; ++i) {
    asked.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(asked.reply().contains("Connection: keep-alive\r\n"));
  }
  Client old(world.gateway);
  old.send("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
  const std::string reply = old.rest();
  CHECK(reply.starts_with("HTTP/1.0 200"));
  CHECK(reply.contains("Content-Length: 2\r\n"));
  CHECK(body_of(reply) == "hi");
  Client closing(world.gateway);
  closing.send(get("/", "Connection: close\r\n"));
  CHECK(closing.rest().contains("Connection: close\r\n"));
}

TEST_CASE("pipelined requests are answered in order") {
  const World world;
  Client client(world.gateway);
  client.send(post("one") + post("two") + post("three").substr(0, 20));
  CHECK(body_of(client.reply()) == "one");
  CHECK(body_of(client.reply()) == "two");
  client.send(post("three").substr(20));
  CHECK(body_of(client.reply()) == "three");
}

TEST_CASE("a request of any size may arrive in pieces of any size") {
  const World world;
  for (const std::size_t size : {std::size_t{1}, std::size_t{70'000}, std::size_t{5'000'000}}) {
    CAPTURE(size);
    const std::string body = some_bytes(size);
    CHECK((body_of(ask(world.gateway, post(body))) == body));
  }
  const std::string bytes = post("hello");
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{50}}) {
    CAPTURE(step);
    Client client(world.gateway);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      client.send(std::string_view(bytes).substr(at, step));
      ::usleep(500);
    }
    CHECK(body_of(client.reply()) == "hello");
  }
}

TEST_CASE("HEAD is answered with the length and without the body") {
  const World world(Pool::answering(fastcgi_answer("Content-Length: 5\r\n\r\nhello")));
  Client client(world.gateway);
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(client.reply(true).contains("Content-Length: 5\r\n"));
  CHECK(client.is_served());
}

TEST_CASE("100-continue is sent before the body, or 413 if it is too long") {
  const World world(serve_echo, {.max_body = 100});
  Client client(world.gateway);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.reply() == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  CHECK(body_of(client.reply()) == "hello");
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.reply().starts_with("HTTP/1.1 413 "));
}

TEST_CASE("the pool gets a chunked body with its length") {
  const World world;
  const std::string body = some_bytes(100'000);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n";
  const std::string chunks = fmt::format("{:x};a=b\r\n{}\r\n{:X}\r\n{}\r\n0\r\nA: b\r\n\r\n",
                                         99'999, body.substr(0, 99'999), 1, body.substr(99'999));
  for (const std::size_t piece : {std::size_t{3}, std::size_t{5000}, std::size_t{1} << 20}) {
    CAPTURE(piece);
    Client client(world.gateway);
    const std::string bytes = head + "\r\n" + chunks + std::string(kGet);
    for (std::string_view left = bytes; !left.empty();) {
      // To save time, only the beginning and the end are sent in small pieces.
      const bool is_middle = left.size() > 1000 && left.size() < bytes.size() - 1000;
      const std::string_view next =
          left.substr(0, is_middle ? std::max<std::size_t>(piece, 5000) : piece);
      client.send(next);
      left.remove_prefix(next.size());
    }
    CHECK(body_of(client.reply()) == body);
    CHECK(client.reply().contains("REQUEST_METHOD=GET\n"));
  }
  Client client(world.gateway);
  client.send(head + "Expect: 100-continue\r\n\r\n");
  CHECK(client.reply() == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("5\r\nhello\r\n0\r\n\r\n");
  CHECK(body_of(client.reply()) == "hello");
  client.send(head + "\r\n0\r\n\r\n");
  const std::string empty = client.reply();
  CHECK(empty.contains("CONTENT_LENGTH=0\n"));
  CHECK_FALSE(empty.contains("HTTP_TRANSFER_ENCODING"));
  CHECK(client.is_served());
}

TEST_CASE("a chunked body is bounded, and refused if it is malformed") {
  const World world(serve_echo, {.max_body = 1000});
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(ask(world.gateway, head + "3e9\r\n").starts_with("HTTP/1.1 413 "));
  CHECK(ask(world.gateway, head + "3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\n")
            .starts_with("HTTP/1.1 413 "));
  CHECK(ask(world.gateway, head + "-1\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(ask(world.gateway, head + "1;" + std::string(5000, 'x')).starts_with("HTTP/1.1 400 "));
  CHECK(wait_for_log(world.gateway, "400 the chunked body is malformed"));
  CHECK(Client(world.gateway).is_served());
}

TEST_CASE("a refused request gets a line of text and a line in the log") {
  const World world(serve_echo, {.max_header = 1000});
  std::string many_fields;
  for (int i = 0; i < 200; ++i) many_fields += fmt::format("X-{}: y\r\n", i);
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
           {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "405"},
           {"POST / HTTP/1.1\r\nHost: h\r\n\r\n", "411"},
           {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4294967296\r\n\r\nx", "413"},
           {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", "505"},
           {"nonsense\r\n\r\n", "400"},
           {std::string("GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n", 31), "400"},
           // The first bytes of a TLS handshake, without a newline.
           {"\x16\x03\x01\x02", "400"},
           {get("/%zz"), "400"},
           {get("/%00"), "400"},
           {get("relative"), "400"},
           {get("/", many_fields), "431"},
           {get("/" + std::string(1000, 'x')), "431"},
           {std::string(2000, 'x'), "431"}}) {
    CAPTURE(bytes.substr(0, 40));
    const std::string reply = ask(world.gateway, bytes);
    CHECK(reply.starts_with("HTTP/1.1 " + status + " "));
    CHECK(reply.contains("Content-Type: text/plain"));
    const std::string body = body_of(reply);
    CHECK(body.starts_with(status + " "));
    CHECK(std::ranges::count(body, '\n') == 1);
    CHECK(world.gateway.log().contains("client 127.0.0.1: " + status + " "));
  }
}

TEST_CASE("a body over the limit is refused before it arrives, and the client can read the reply") {
  const World world(serve_echo, {.max_body = 1'000'000});
  Client client(world.gateway);
  // The body is larger than the socket buffers. If the gateway did not read the body, the
  // connection would be reset.
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000000\r\n\r\n");
  for (int i = 0; i < 30; ++i) client.send(some_bytes(1'000'000));
  const std::string reply = client.reply();
  CHECK(reply.starts_with("HTTP/1.1 413 "));
  CHECK(body_of(reply) ==
        "413 Content Too Large: a body of 30000000 bytes exceeds the limit of 1000000\n");
}

TEST_CASE("a password in a target is not logged") {
  const TemporaryFolder folder;
  const Gateway gateway(folder / "nobody");
  for (const char* target : {"http://ann:secret@h/a@b", "http://ann:secret@h"}) {
    CHECK(ask(gateway, get(target)).starts_with("HTTP/1.1 502 "));
  }
  CHECK(
      gateway.log().contains("client 127.0.0.1: 502 GET http://h/a@b: the pool cannot be reached: "
                             "cannot connect"));
  CHECK(gateway.log().contains("502 GET http://h: "));
  CHECK_FALSE(gateway.log().contains("secret"));
}

TEST_CASE("a pool may use TCP, and is a 502 if it does not listen") {
  const std::string address = free_address();
  const Gateway gateway(address);
  Client client(gateway);
  for (int i = 0; i < 2; ++i) {
    client.send(kGet);
    CHECK(client.reply().starts_with("HTTP/1.1 502 "));
  }
  const Pool pool(address, serve_echo);
  const std::string body = some_bytes(3'000'000);
  CHECK((body_of(ask(gateway, post(body))) == body));
}

TEST_CASE("garbage from the pool is a 502") {
  const std::string end = end_record();
  for (const std::string& bytes :
       {std::string("HTTP/1.1 200 OK\r\n\r\n"), std::string(), end,
        record(FCGI_STDOUT, "Content-Type: a/b\r\n\r\ncut"), fastcgi_answer("no headers"),
        fastcgi_answer("Status: 99\r\n\r\n"), fastcgi_answer("Content-Length: 9\r\n\r\nshort"),
        fastcgi_answer("Content-Length: 1\r\n\r\nlong"), end_record(FCGI_CANT_MPX_CONN)}) {
    CAPTURE(bytes);
    const World world(Pool::answering(bytes));
    CHECK(body_of(ask(world.gateway)) == "502 Bad Gateway: the pool sent an invalid reply\n");
  }
}

TEST_CASE("a reply over the limit is a 502") {
  const World world(Pool::answering(fastcgi_answer("X: y\r\n\r\n" + some_bytes(200'000))),
                    {.max_reply = 100'000});
  CHECK(ask(world.gateway).starts_with("HTTP/1.1 502 "));
  CHECK(world.gateway.log().contains("exceeds the limit of 100000 bytes"));
}

TEST_CASE("a pool that is silent for too long causes a 504") {
  const World world(
      [](int connection) {
        Pool::read_request(connection);
        char byte = 0;
        // Waits until the gateway closes the connection.
        CHECK(::read(connection, &byte, 1) == 0);
      },
      {.pool_timeout = 200ms});
  CHECK(body_of(ask(world.gateway)) == "504 Gateway Timeout: the pool did not reply in time\n");
  CHECK(world.gateway.log().contains("504 GET /: "));
}

TEST_CASE("a reply before the pool has read everything is still valid") {
  const World world([](int connection) {
    char some[100];
    CHECK(::read(connection, some, sizeof some) > 0);
    Pool::write(connection, fastcgi_answer("Status: 413 Too much\r\nContent-Length: 0\r\n\r\n"));
  });
  CHECK(ask(world.gateway, post(some_bytes(3'000'000))).starts_with("HTTP/1.1 413 Too much"));
}

TEST_CASE("status and fields of the pool's reply reach the client, its standard error the log") {
  const World world(Pool::answering(
      fastcgi_answer("Status: 404 No such repository\nX-One: 1\nSet-Cookie: a=1\nSet-Cookie: "
                     "b=2\n\nnothing",
                     "something\nodd")));
  const std::string reply = ask(world.gateway);
  CHECK(reply.starts_with("HTTP/1.1 404 No such repository\r\n"));
  for (const char* field :
       {"X-One: 1", "Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Length: 7"}) {
    CAPTURE(field);
    CHECK(reply.contains(fmt::format("\r\n{}\r\n", field)));
  }
  CHECK(world.gateway.log().contains("standard error of the pool: something\\x0aodd"));
}

TEST_CASE("a large reply is sent completely") {
  const std::string body = some_bytes(8'000'000);
  for (const std::string& length : {std::string(), std::string("Content-Length: 8000000\r\n")}) {
    const World world(
        Pool::answering(fastcgi_answer("Content-Type: a/b\r\n" + length + "\r\n" + body)));
    Client client(world.gateway);
    client.send(std::string(kGet) + std::string(kGet));
    for (int i = 0; i < 2; ++i) {
      const std::string reply = client.reply();
      CHECK(reply.substr(0, 200).contains("Content-Length: 8000000\r\n"));
      CHECK_FALSE(reply.substr(0, 200).contains("chunked"));
      CHECK((body_of(reply) == body));
    }
  }
}

TEST_CASE("a large reply may be the last on its connection, however quickly it is read") {
  std::binary_semaphore taken{0};
  const World world(beginning(500'000, [&taken](int connection) {
    taken.acquire();
    Pool::write(connection, end_record());
  }));
  for (int i = 0; i < 5; ++i) {
    Client client(world.gateway);
    client.send("GET / HTTP/1.0\r\n\r\n");
    std::string reply = client.take(500'000);
    reply += client.take(reply.find("\r\n\r\n") + 4);
    taken.release();
    CHECK(body_of(reply + client.rest()).size() == 500'000);
  }
}

TEST_CASE("a truncated reply ends the connection, and is logged") {
  struct Trouble {
    std::size_t length;
    std::string rest;
    std::string log;
  };
  const std::string end = end_record();
  for (const Trouble& trouble : {Trouble{500'001, "", "closed the connection"},
                                 Trouble{500'001, end, "it sent less than its Content-Length"},
                                 Trouble{400'000, end, "it sent more than its Content-Length"},
                                 Trouble{500'001, "garbage", "reply aborted"}}) {
    CAPTURE(trouble.log);
    const World world(
        beginning(trouble.length, [&](int connection) { Pool::write(connection, trouble.rest); }));
    Client client(world.gateway);
    client.send(std::string(kGet) + std::string(kGet));
    const std::string reply = client.rest();
    CHECK(reply.starts_with(kOk));
    CHECK_FALSE(reply.ends_with("TIMEOUT"));
    CHECK_FALSE(reply.contains("502"));
    CHECK(body_of(reply).size() < trouble.length);
    CHECK(world.gateway.log().contains(trouble.log));
  }
}

TEST_CASE("a client that disconnects before or during the reply aborts its request") {
  std::binary_semaphore here{0};
  std::promise<bool> was_closed;
  const auto then = [&](int connection) {
    here.release();
    pollfd closed{connection, POLLRDHUP, 0};
    was_closed.set_value(::poll(&closed, 1, kPatience) == 1);
  };
  Pool::Serve serve;
  SUBCASE("before") {
    serve = [&](int connection) {
      Pool::read_request(connection);
      then(connection);
    };
  }
  SUBCASE("during") {
    serve = beginning(10'000'000, then);
  }
  const World world(serve);
  Client client(world.gateway);
  client.send(kGet);
  REQUIRE(here.try_acquire_for(kPatienceTime));
  client.close();
  CHECK(was_closed.get_future().get());
}

TEST_CASE("slow clients get a timeout reply and are closed, in the head and in the body") {
  const World world(serve_echo, {.client_timeout = 300ms});
  for (const std::string& start : {std::string("GET / HT"), post(some_bytes(100)).substr(0, 80)}) {
    CAPTURE(start);
    Client client(world.gateway);
    client.send(start);
    std::thread drip([&client] {
      for (int i = 0; i < 20; ++i) {
        ::usleep(50'000);
        client.send("x");
      }
    });
    const std::string reply = client.reply();
    drip.join();
    CHECK(reply.starts_with("HTTP/1.1 408 "));
  }
  CHECK(world.gateway.log().contains("client 127.0.0.1: 408 "));
  CHECK(Client(world.gateway).is_served());
}

TEST_CASE("a client that sends nothing, or only empty lines, is closed without a reply") {
  const World world(serve_echo, {.client_timeout = 200ms});
  for (const std::string_view bytes : {"", "\r\n\r\n\r"}) {
    Client client(world.gateway);
    client.send(bytes);
    CHECK(client.rest() == "");
  }
  CHECK(world.gateway.log() == "");
}

TEST_CASE("a client that disconnects during a request is logged") {
  for (const std::size_t size : {std::size_t{10}, std::size_t{70}}) {
    const World world;
    Client client(world.gateway);
    client.send(post(some_bytes(100)).substr(0, size));
    client.close();
    CHECK(wait_for_log(
        world.gateway,
        fmt::format("client 127.0.0.1: disconnected after {} bytes of an incomplete request",
                    size)));
  }
}

TEST_CASE("the log is limited when many clients disconnect during a request") {
  const World world;
  for (int i = 0; i < 20; ++i) {
    Client client(world.gateway);
    client.send("POST");
  }
  CHECK(wait_for_log(world.gateway, "disconnected after 4 bytes of an incomplete request"));
  CHECK(ask(world.gateway).starts_with(kOk));
  CHECK(std::ranges::count(world.gateway.log(), '\n') < 20);
}

TEST_CASE("a body that arrives steadily may take longer than the timeout") {
  const World world(serve_echo, {.client_timeout = 1s, .min_rate = 10});
  Client client(world.gateway);
  const std::string bytes = post(some_bytes(1000));
  client.send(std::string_view(bytes).substr(0, bytes.size() - 1000));
  for (std::size_t at = bytes.size() - 1000; at < bytes.size(); at += 100) {
    client.send(std::string_view(bytes).substr(at, 100));
    ::usleep(120'000);
  }
  CHECK(client.reply().starts_with(kOk));
}

TEST_CASE("an idle kept-alive connection is closed") {
  const World world(serve_echo, {.keepalive_timeout = 200ms});
  Client client(world.gateway);
  CHECK(client.is_served());
  CHECK(client.rest() == "");
}

TEST_CASE("requests wait while the pool's backlog is full, but not forever") {
  TemporaryFolder folder;
  const Gateway gateway(folder / "pool");
  const Gateway impatient(folder / "full", {.connect_timeout = 200ms});
  const Pool pool(
      folder / "pool",
      [](int connection) {
        ::usleep(5'000);
        serve_echo(connection);
      },
      1);
  std::vector<std::future<std::string>> replies;
  for (int i = 0; i < 20; ++i) {
    replies.push_back(std::async(std::launch::async, [&] { return ask(gateway); }));
  }
  for (auto& reply : replies) CHECK(reply.get().starts_with(kOk));
  const auto address = quarry::base::SocketAddress::parse((folder / "full").string());
  REQUIRE(address);
  const auto listener = quarry::base::listen_on(*address, {.backlog = 0});
  REQUIRE(listener);
  const auto filler = connect_to(*address);
  REQUIRE(filler);
  CHECK(ask(impatient).starts_with("HTTP/1.1 504 "));
}

TEST_CASE("SIGTERM ends the gateway immediately, SIGINT is left to the master") {
  std::binary_semaphore here{0};
  World world([&here](int connection) {
    Pool::read_request(connection);
    here.release();
    char byte = 0;
    CHECK(::read(connection, &byte, 1) == 0);
  });
  Client idle(world.gateway);
  Client busy(world.gateway);
  busy.send(kGet);
  REQUIRE(here.try_acquire_for(kPatienceTime));
  world.gateway.signal(SIGINT);
  world.gateway.signal(SIGTERM);
  CHECK(world.gateway.wait() == 0);
  CHECK(busy.rest() == "");
}

TEST_CASE("SIGQUIT finishes the in-flight request and stops accepting connections") {
  std::binary_semaphore here{0};
  std::binary_semaphore may_answer{0};
  World world([&](int connection) {
    Pool::read_request(connection);
    here.release();
    CHECK(may_answer.try_acquire_for(kPatienceTime));
    Pool::write(connection, fastcgi_answer("X: y\r\n\r\ndone"));
  });
  Client idle(world.gateway);
  Client busy(world.gateway);
  busy.send(kGet);
  REQUIRE(here.try_acquire_for(kPatienceTime));
  world.gateway.signal(SIGQUIT);
  // The gateway closes the idle connection only after stop_grace, because the client might be about
  // to send a request.
  CHECK(idle.rest() == "");
  may_answer.release();
  const std::string reply = busy.rest();
  CHECK(body_of(reply) == "done");
  CHECK(reply.contains("Connection: close\r\n"));
  CHECK(world.gateway.wait() == 0);
}

TEST_CASE("after SIGQUIT, a kept-alive connection gets one more reply, with Connection: close") {
  World world(serve_echo, {.stop_grace = 10s});
  Client kept(world.gateway);
  Client fresh(world.gateway);
  kept.send(kGet);
  CHECK_FALSE(kept.reply().contains("Connection: close"));
  world.gateway.signal(SIGQUIT);
  std::string reply;
  do {
    kept.send(kGet);
    reply = kept.reply();
    REQUIRE(reply.starts_with(kOk));
  } while (!reply.contains("Connection: close\r\n"));
  CHECK(kept.rest() == "");
  fresh.send(kGet);
  reply = fresh.rest();
  CHECK(reply.starts_with(kOk));
  CHECK(reply.contains("Connection: close\r\n"));
  CHECK(world.gateway.wait() == 0);
}

TEST_CASE(
    "a large reply is sent while it arrives, and after a SIGQUIT one more request may follow") {
  constexpr std::size_t kLength = 500'010;
  std::binary_semaphore may_go_on{0};
  int asked = 0;
  const Pool::Serve begin = beginning(kLength, [&](int connection) {
    CHECK(may_go_on.try_acquire_for(kPatienceTime));
    Pool::write(connection, record(FCGI_STDOUT, "the rest.\n") + end_record());
  });
  World world([&](int connection) { ++asked == 1 ? begin(connection) : serve_echo(connection); },
              {.stop_grace = 1s});
  Client idle(world.gateway);
  Client client(world.gateway);
  client.send(kGet);
  std::string reply = client.take(400'000);
  CHECK_FALSE(reply.substr(0, reply.find("\r\n\r\n")).contains("Connection: close"));
  world.gateway.signal(SIGQUIT);
  CHECK(idle.rest() == "");
  may_go_on.release();
  reply += client.take(reply.find("\r\n\r\n") + 4 + kLength - reply.size());
  CHECK(reply.ends_with("the rest.\n"));
  client.send(kGet);
  reply = client.rest();
  CHECK(reply.starts_with(kOk));
  CHECK(reply.contains("Connection: close\r\n"));
  CHECK(world.gateway.wait() == 0);
}
