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

#include "eventually.h"
#include "fastcgi_records.h"
#include "world.h"

using fastcgi_records::end_record;
using fastcgi_records::record;
using namespace quarry::gateway;
using namespace quarry::gateway::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

std::string get(std::string_view target, std::string_view fields = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view body, std::string_view fields = {}) {
  return "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(fields) + "\r\n" + std::string(body);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string body_of(std::string_view reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string_view::npos ? "(none)" : std::string(reply.substr(end + 4));
}

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

Pool::Serve answering(std::string bytes) {
  return [bytes = std::move(bytes)](int connection) {
    Pool::read_request(connection);
    Pool::write(connection, bytes);
  };
}

}  // namespace

TEST_CASE("the pool gets the request as CGI variables") {
  const World world;
  const std::string reply =
      ask(world.gateway, get("/a%20b/c?x=%20&y",
                             "X-Two: 1\r\nx-two: 2\r\nCookie: a\r\nCookie: b\r\n"
                             "Proxy: evil\r\nX_Odd: 1\r\nRemote-User: root\r\n"));
  CHECK(reply.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(has(reply, "Content-Type: text/x-echo\r\n"));
  const std::string params = "\n" + body_of(reply);
  CHECK(has(params, "\nREQUEST_URI=/a%20b/c?x=%20&y\n"));
  CHECK(has(params, "\nPATH_INFO=/a b/c\n"));
  CHECK(has(params, "\nSCRIPT_NAME=\n"));
  CHECK(has(params, "\nQUERY_STRING=x=%20&y\n"));
  CHECK(has(params, "\nREQUEST_METHOD=GET\n"));
  CHECK(has(params, "\nSERVER_PROTOCOL=HTTP/1.1\n"));
  CHECK(has(params, "\nSERVER_NAME=h\n"));
  CHECK(has(params, "\nSERVER_PORT=" + std::to_string(world.gateway.port()) + "\n"));
  CHECK(has(params, "\nREMOTE_ADDR=127.0.0.1\n"));
  CHECK(has(params, "\nREMOTE_PORT="));
  CHECK(has(params, "\nHTTP_X_TWO=1, 2\n"));
  CHECK(has(params, "\nHTTP_COOKIE=a; b\n"));
  CHECK_FALSE(has(params, "HTTP_PROXY"));
  CHECK_FALSE(has(params, "X_ODD"));
  CHECK_FALSE(has(params, "\nREMOTE_USER="));
}

TEST_CASE("a target in absolute form is reduced to its path, and the host name to the name") {
  const World world;
  const std::string params =
      "\n" +
      body_of(ask(world.gateway, "GET HTTP://other:80/a?b HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"));
  CHECK(has(params, "\nREQUEST_URI=/a?b\n"));
  CHECK(has(params, "\nPATH_INFO=/a\n"));
  CHECK(has(params, "\nSERVER_NAME=[::1]\n"));
  const std::string bare = "\n" + body_of(ask(world.gateway, get("http://other")));
  CHECK(has(bare, "\nPATH_INFO=/\n"));
}

TEST_CASE("a path is passed on unchanged, even with \"..\"") {
  const World world;
  const std::string params = "\n" + body_of(ask(world.gateway, get("/a/../%2e%2e//b/.")));
  CHECK(has(params, "\nPATH_INFO=/a/../..//b/.\n"));
}

TEST_CASE("a trusted proxy determines whether the client used https") {
  const auto scheme = [](const World& world) {
    return "\n" + body_of(ask(world.gateway, get("/", "X-Forwarded-Proto: https\r\n")));
  };
  const World strict;
  const World trusts(serve_echo, [](GatewayOptions& options) {
    options.trusted_proxies = AddressSet::parse(std::vector<std::string>{"127.0.0.1"}).value();
  });
  CHECK(has(scheme(strict), "\nREQUEST_SCHEME=http\n"));
  CHECK_FALSE(has(scheme(strict), "HTTP_X_FORWARDED_PROTO"));
  CHECK(has(scheme(trusts), "\nREQUEST_SCHEME=https\n"));
  CHECK(has(scheme(trusts), "\nHTTPS=on\n"));
}

TEST_CASE("bodies of any size are passed on completely") {
  const World world;
  for (const std::size_t size : {std::size_t{1}, std::size_t{70'000}, std::size_t{5'000'000}}) {
    CAPTURE(size);
    const std::string body = some_bytes(size);
    CHECK((body_of(ask(world.gateway, post(body))) == body));
  }
}

TEST_CASE("an empty body is passed on as empty") {
  const World world;
  const std::string params = "\n" + body_of(ask(world.gateway, post("", "Content-Type: a/b\r\n")));
  CHECK(has(params, "\nCONTENT_LENGTH=0\n"));
  CHECK(has(params, "\nCONTENT_TYPE=a/b\n"));
}

TEST_CASE("HTTP/1.1 keeps the connection alive, HTTP/1.0 only on request") {
  const World world;
  Client kept(world.gateway);
  for (int i = 0; i < 3; ++i) {
    kept.send(kGet);
    CHECK(kept.reply().starts_with("HTTP/1.1 200"));
  }
  Client asked(world.gateway);
  for (int i = 0; i < 2; ++i) {
    asked.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(has(asked.reply(), "Connection: keep-alive\r\n"));
  }
  Client old(world.gateway);
  old.send("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
  const std::string reply = old.rest();
  CHECK(reply.starts_with("HTTP/1.0 200"));
  CHECK(has(reply, "Content-Length: 2\r\n"));
  CHECK(body_of(reply) == "hi");
  Client closing(world.gateway);
  closing.send(get("/", "Connection: close\r\n"));
  CHECK(has(closing.rest(), "Connection: close\r\n"));
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

TEST_CASE("a request may arrive in pieces of any size") {
  const World world;
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
  const World world(answering(fastcgi_answer("Content-Length: 5\r\n\r\nhello")));
  Client client(world.gateway);
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string reply = client.reply(true);
  CAPTURE(reply);
  CHECK(has(reply, "Content-Length: 5\r\n"));
  client.send(kGet);
  CHECK(client.reply().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("100-continue is sent before the body, or 413 if it is too long") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_body = 100; });
  Client client(world.gateway);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.reply() == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  CHECK(body_of(client.reply()) == "hello");
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.reply().starts_with("HTTP/1.1 413 "));
}

TEST_CASE("a refused request gets a line of text and a line in the log") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_header = 1000; });
  const auto refused = [&](const std::string& bytes, const std::string& status) {
    CAPTURE(bytes.substr(0, 40));
    Client client(world.gateway);
    client.send(bytes);
    const std::string reply = client.reply();
    CHECK(reply.starts_with("HTTP/1.1 " + status + " "));
    CHECK(has(reply, "Content-Type: text/plain"));
    const std::string body = body_of(reply);
    CHECK(body.starts_with(status + " "));
    CHECK(std::count(body.begin(), body.end(), '\n') == 1);
    CHECK(has(world.gateway.log(), "client 127.0.0.1: " + status + " "));
  };
  const auto post_with = [](const std::string& fields, const std::string& body = "x") {
    return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n\r\n" + body;
  };
  refused("PUT / HTTP/1.1\r\nHost: h\r\n\r\n", "405");
  refused("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", "405");
  refused("PU(SH / HTTP/1.1\r\nHost: h\r\n\r\n", "400");
  refused("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "405");
  refused("POST / HTTP/1.1\r\nHost: h\r\n\r\n", "411");
  refused("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411");
  refused("POST / HTTP/1.0\r\nHost: h\r\n\r\n", "411");
  refused(post_with("Transfer-Encoding: gzip"), "411");
  refused(post_with("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), "400");
  refused(post_with("Content-Length: abc"), "400");
  refused(post_with("Content-Length: -1"), "400");
  refused(post_with("Content-Length: 1\r\nContent-Length: 2", "xy"), "400");
  refused(post_with("Content-Length: 4294967296"), "413");
  refused(post_with("Content-Length: 99999999999999999999999"), "400");
  refused("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400");
  refused("nonsense\r\n\r\n", "400");
  refused(std::string("GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n", 31), "400");
  // The start of a TLS handshake, without a newline.
  refused("\x16\x03\x01\x02", "400");
  refused("GET / HTTP/3.0\r\nHost: h\r\n\r\n", "505");
  refused(get("/%zz"), "400");
  refused(get("/%00"), "400");
  refused(get("relative"), "400");
  std::string many_fields;
  for (int i = 0; i < 200; ++i) many_fields += fmt::format("X-{}: y\r\n", i);
  refused(get("/", many_fields), "431");
  refused(get("/" + std::string(1000, 'x')), "431");
  refused(std::string(2000, 'x'), "431");
}

TEST_CASE("a body over the limit is refused before it arrives, and the client can read the reply") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_body = 1'000'000; });
  Client client(world.gateway);
  // More than any socket buffer holds: if the gateway did not keep reading, this would cause a reset.
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000000\r\n\r\n");
  for (int i = 0; i < 30; ++i) client.send(some_bytes(1'000'000));
  const std::string reply = client.reply();
  CHECK(reply.starts_with("HTTP/1.1 413 "));
  CHECK(body_of(reply) ==
        "413 Content Too Large: a body of 30000000 bytes is over the limit of 1000000\n");
}

TEST_CASE("bodies that exceed the total limit are refused one by one") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_bodies = 1'500'000; });
  const std::string request = post(some_bytes(1'000'000));
  const auto all_but_the_end = std::string_view(request).substr(0, request.size() - 1);
  Client first(world.gateway);
  first.send(all_but_the_end);
  // Either of the two, whichever the gateway reads last.
  Client second(world.gateway);
  second.send(all_but_the_end);
  const std::string log_line = "client 127.0.0.1: 503 too many large requests at the same time";
  CHECK(eventually([&] { return has(world.gateway.log(), log_line); }));
  first.send("x");
  second.send("x");
  const std::string replies = first.reply().substr(0, 12) + second.reply().substr(0, 12);
  CHECK((replies == "HTTP/1.1 200HTTP/1.1 503" || replies == "HTTP/1.1 503HTTP/1.1 200"));
  first.close();
  second.close();
  // Neither counts any longer: this can be repeated, also on one connection.
  Client patient(world.gateway);
  for (int i = 0; i < 5; ++i) {
    patient.send(request);
    CHECK(patient.reply().starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("an unreachable pool is a 502") {
  const TemporaryFolder folder;
  const Gateway gateway(folder / "nobody");
  Client client(gateway);
  client.send(kGet);
  CHECK(client.reply().starts_with("HTTP/1.1 502 "));
  client.send(kGet);
  CHECK(client.reply().starts_with("HTTP/1.1 502 "));
  CHECK(has(gateway.log(),
            "client 127.0.0.1: 502 GET /: the pool cannot be reached: cannot connect"));
}

TEST_CASE("a password in a target is not logged") {
  const TemporaryFolder folder;
  const Gateway gateway(folder / "nobody");
  for (const char* target : {"http://ann:secret@h/a@b", "http://ann:secret@h"}) {
    Client client(gateway);
    client.send(get(target));
    CHECK(client.reply().starts_with("HTTP/1.1 502 "));
  }
  CHECK(has(gateway.log(), "502 GET http://h/a@b: "));
  CHECK(has(gateway.log(), "502 GET http://h: "));
  CHECK_FALSE(has(gateway.log(), "secret"));
}

TEST_CASE("a pool may use TCP, and is a 502 if it does not listen") {
  const std::string address = free_address();
  const Gateway gateway(address);
  CHECK(ask(gateway, kGet).starts_with("HTTP/1.1 502 "));
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
    const World world(answering(bytes));
    const std::string reply = ask(world.gateway, kGet);
    CHECK(reply.starts_with("HTTP/1.1 502 "));
    CHECK(body_of(reply) == "502 Bad Gateway: the pool gave no proper answer\n");
  }
}

TEST_CASE("an answer over the limit is a 502") {
  const World world(answering(fastcgi_answer("X: y\r\n\r\n" + some_bytes(200'000))),
                    [](GatewayOptions& options) { options.max_reply = 100'000; });
  CHECK(ask(world.gateway, kGet).starts_with("HTTP/1.1 502 "));
  CHECK(has(world.gateway.log(), "over the limit of 100000 bytes"));
}

TEST_CASE("a pool that is silent for too long causes a 504") {
  const World world(
      [](int connection) {
        Pool::read_request(connection);
        char byte = 0;
        // Until the gateway gives up.
        CHECK(::read(connection, &byte, 1) == 0);
      },
      [](GatewayOptions& options) { options.pool_timeout = 200ms; });
  CHECK(body_of(ask(world.gateway, kGet)) == "504 Gateway Timeout: the pool takes too long\n");
  CHECK(has(world.gateway.log(), "504 GET /: "));
}

TEST_CASE("a reply before the pool has read everything is still valid") {
  const World world([](int connection) {
    char some[100];
    CHECK(::read(connection, some, sizeof some) > 0);
    Pool::write(connection, fastcgi_answer("Status: 413 Too much\r\nContent-Length: 0\r\n\r\n"));
  });
  CHECK(ask(world.gateway, post(some_bytes(3'000'000))).starts_with("HTTP/1.1 413 Too much"));
}

TEST_CASE("the pool's standard error is logged") {
  const World world(answering(fastcgi_answer("X: y\r\n\r\n", "something\nodd")));
  CHECK(ask(world.gateway, kGet).starts_with("HTTP/1.1 200"));
  CHECK(has(world.gateway.log(), "the pool says: something\\x0aodd"));
}

TEST_CASE("status and fields of the pool's answer reach the client") {
  const World world(answering(fastcgi_answer(
      "Status: 404 No such repository\nX-One: 1\nSet-Cookie: a=1\nSet-Cookie: b=2\n\nnothing")));
  const std::string reply = ask(world.gateway, kGet);
  CHECK(reply.starts_with("HTTP/1.1 404 No such repository\r\n"));
  CHECK(has(reply, "X-One: 1\r\n"));
  CHECK(has(reply, "Set-Cookie: a=1\r\n"));
  CHECK(has(reply, "Set-Cookie: b=2\r\n"));
  CHECK(has(reply, "Content-Length: 7\r\n"));
}

TEST_CASE("a large reply is sent completely") {
  const std::string body = some_bytes(8'000'000);
  for (const std::string& length :
       {std::string(), fmt::format("Content-Length: {}\r\n", 8'000'000)}) {
    const World world(answering(fastcgi_answer("Content-Type: a/b\r\n" + length + "\r\n" + body)));
    Client client(world.gateway);
    client.send(std::string(kGet) + std::string(kGet));
    for (int i = 0; i < 2; ++i) {
      const std::string reply = client.reply();
      CHECK(has(reply.substr(0, 200), "Content-Length: 8000000\r\n"));
      CHECK_FALSE(has(reply.substr(0, 200), "chunked"));
      CHECK((body_of(reply) == body));
    }
  }
}

/// Answers with the header of a body of LENGTH bytes and the first 500,000 of it, and calls THEN.
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

TEST_CASE("a large reply is sent while it arrives") {
  std::promise<void> seen;
  const World world(beginning(500'010, [&](int connection) {
    CHECK(seen.get_future().wait_for(kPatienceTime) == std::future_status::ready);
    Pool::write(connection, record(FCGI_STDOUT, "the rest.\n") + end_record());
  }));
  Client client(world.gateway);
  client.send(kGet);
  const std::string start = client.take(400'000);
  seen.set_value();
  CHECK((start + client.take(start.find("\r\n\r\n") + 4 + 100'010)).ends_with("the rest.\n"));
}

TEST_CASE("a truncated reply ends the connection, and is logged") {
  struct Trouble {
    std::size_t length;
    std::string rest;
    std::string log;
  };
  const std::string end = end_record();
  for (const Trouble& trouble : {Trouble{500'001, "", "closed the connection"},
                                 Trouble{500'001, end, "it sent less than it declared"},
                                 Trouble{400'000, end, "it sent more than it declared"},
                                 Trouble{500'001, "garbage", "the reply broke off"}}) {
    CAPTURE(trouble.log);
    const World world(
        beginning(trouble.length, [&](int connection) { Pool::write(connection, trouble.rest); }));
    Client client(world.gateway);
    client.send(std::string(kGet) + std::string(kGet));
    const std::string reply = client.rest();
    CHECK(reply.starts_with("HTTP/1.1 200"));
    CHECK_FALSE(reply.ends_with("TIMEOUT"));
    CHECK_FALSE(has(reply, "502"));
    CHECK(body_of(reply).size() < trouble.length);
    CHECK(has(world.gateway.log(), trouble.log));
  }
}

TEST_CASE("a client that disconnects during a reply aborts its request") {
  std::promise<bool> was_closed;
  const World world(beginning(10'000'000, [&](int connection) {
    pollfd closed{connection, POLLRDHUP, 0};
    was_closed.set_value(::poll(&closed, 1, kPatience) == 1);
  }));
  {
    Client client(world.gateway);
    client.send(kGet);
    client.take(100'000);
  }
  CHECK(was_closed.get_future().get());
}

TEST_CASE("X-Forwarded-For counts only from trusted peers, up to the first that is not") {
  const auto trusting = [](std::vector<std::string> entries) {
    return [entries](GatewayOptions& options) {
      options.trusted_proxies = AddressSet::parse(entries).value();
    };
  };
  const auto address = [](const World& world, std::string_view value) {
    const std::string params =
        body_of(ask(world.gateway, get("/", "X-Forwarded-For: " + std::string(value) + "\r\n")));
    const std::size_t at = params.find("\nREMOTE_ADDR=") + 13;
    return params.substr(at, params.find('\n', at) - at);
  };
  const World strict;
  const World trusts(serve_echo, trusting({"127.0.0.1", "10.0.0.0/8"}));
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

TEST_CASE("a client that disconnects aborts its request to the pool") {
  std::binary_semaphore here{0};
  std::binary_semaphore gone{0};
  const World world([&](int connection) {
    Pool::read_request(connection);
    here.release();
    char byte = 0;
    if (::read(connection, &byte, 1) == 0) gone.release();
  });
  Client client(world.gateway);
  client.send(kGet);
  REQUIRE(here.try_acquire_for(kPatienceTime));
  client.close();
  CHECK(gone.try_acquire_for(kPatienceTime));
}

TEST_CASE("slow clients get a timeout reply and are closed, in the head and in the body") {
  const World world(serve_echo, [](GatewayOptions& options) { options.client_timeout = 300ms; });
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
  CHECK(has(world.gateway.log(), "client 127.0.0.1: 408 "));
  CHECK(ask(world.gateway, kGet).starts_with("HTTP/1.1 200"));
}

TEST_CASE("a client that sends nothing is closed without a reply") {
  const World world(serve_echo, [](GatewayOptions& options) { options.client_timeout = 200ms; });
  CHECK(Client(world.gateway).rest() == "");
  CHECK(world.gateway.log() == "");
}

TEST_CASE("a client that disconnects during a request is logged") {
  const World world;
  for (const std::size_t size : {std::size_t{10}, std::size_t{70}}) {
    Client client(world.gateway);
    client.send(post(some_bytes(100)).substr(0, size));
    client.close();
    const std::string line = "client 127.0.0.1: left in the middle of a request, after " +
                             std::to_string(size) + " bytes";
    CHECK(eventually([&] { return has(world.gateway.log(), line); }));
  }
}

TEST_CASE("a body that arrives steadily may take longer than the timeout") {
  const World world(serve_echo, [](GatewayOptions& options) {
    options.client_timeout = 1s;
    options.min_rate = 10;
  });
  Client client(world.gateway);
  const std::string bytes = post(some_bytes(1000));
  client.send(std::string_view(bytes).substr(0, bytes.size() - 1000));
  for (std::size_t at = bytes.size() - 1000; at < bytes.size(); at += 100) {
    client.send(std::string_view(bytes).substr(at, 100));
    ::usleep(120'000);
  }
  CHECK(client.reply().starts_with("HTTP/1.1 200"));
}

TEST_CASE("an idle kept-alive connection is closed") {
  const World world(serve_echo, [](GatewayOptions& options) { options.keepalive_timeout = 200ms; });
  Client client(world.gateway);
  client.send(kGet);
  CHECK(client.reply().starts_with("HTTP/1.1 200"));
  CHECK(client.rest() == "");
}

TEST_CASE("requests wait when the pool's backlog is full") {
  TemporaryFolder folder;
  const Gateway gateway(folder / "pool");
  const Pool pool(
      folder / "pool",
      [](int connection) {
        ::usleep(5'000);
        serve_echo(connection);
      },
      1);
  std::vector<std::string> replies(20);
  std::vector<std::thread> clients;
  clients.reserve(replies.size());
  for (std::string& reply : replies) {
    clients.emplace_back([&] { reply = ask(gateway, kGet); });
  }
  for (std::thread& client : clients) client.join();
  for (const std::string& reply : replies) CHECK(reply.starts_with("HTTP/1.1 200"));
}

TEST_CASE("a pool whose backlog stays full is a 504") {
  TemporaryFolder folder;
  const Gateway gateway(folder / "pool",
                        [](GatewayOptions& options) { options.connect_timeout = 200ms; });
  const auto address = quarry::base::SocketAddress::parse((folder / "pool").string());
  REQUIRE(address);
  const auto listener = quarry::base::listen_on(*address, {.backlog = 0});
  REQUIRE(listener);
  const auto filler = quarry::base::connect_to(*address);
  REQUIRE(filler);
  CHECK(ask(gateway, kGet).starts_with("HTTP/1.1 504 "));
}

TEST_CASE("more clients than allowed wait until one leaves") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_connections = 2; });
  Client first(world.gateway);
  Client second(world.gateway);
  for (Client* client : {&first, &second}) {
    client->send(kGet);
    CHECK(client->reply().starts_with("HTTP/1.1 200"));
  }
  Client third(world.gateway);
  third.send(kGet);
  first.close();
  CHECK(third.reply().starts_with("HTTP/1.1 200"));
}

TEST_CASE("SIGTERM ends the gateway immediately") {
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
  // After stop_grace, since it might have been about to send.
  CHECK(idle.rest() == "");
  may_answer.release();
  const std::string reply = busy.rest();
  CHECK(body_of(reply) == "done");
  CHECK(has(reply, "Connection: close\r\n"));
  CHECK(world.gateway.wait() == 0);
}

TEST_CASE("after SIGQUIT, a kept-alive connection gets one more reply, with Connection: close") {
  World world(serve_echo, [](GatewayOptions& options) { options.stop_grace = 10s; });
  Client kept(world.gateway);
  Client fresh(world.gateway);
  kept.send(kGet);
  CHECK_FALSE(has(kept.reply(), "Connection: close"));
  world.gateway.signal(SIGQUIT);
  std::string reply;
  do {
    kept.send(kGet);
    reply = kept.reply();
    REQUIRE(reply.starts_with("HTTP/1.1 200"));
  } while (!has(reply, "Connection: close\r\n"));
  CHECK(kept.rest() == "");
  fresh.send(kGet);
  reply = fresh.rest();
  CHECK(reply.starts_with("HTTP/1.1 200"));
  CHECK(has(reply, "Connection: close\r\n"));
  // Long before stop_grace has passed: no connection is left.
  CHECK(world.gateway.wait() == 0);
}

TEST_CASE("after a reply that began before SIGQUIT, one more request may follow") {
  constexpr std::size_t kLength = 500'010;
  std::binary_semaphore may_go_on{0};
  int asked = 0;
  const Pool::Serve begin = beginning(kLength, [&](int connection) {
    CHECK(may_go_on.try_acquire_for(kPatienceTime));
    Pool::write(connection, record(FCGI_STDOUT, "the rest.\n") + end_record());
  });
  World world([&](int connection) { ++asked == 1 ? begin(connection) : serve_echo(connection); },
              [](GatewayOptions& options) { options.stop_grace = 1s; });
  Client idle(world.gateway);
  Client client(world.gateway);
  client.send(kGet);
  std::string reply = client.take(400'000);
  CHECK_FALSE(has(reply.substr(0, reply.find("\r\n\r\n")), "Connection: close"));
  world.gateway.signal(SIGQUIT);
  CHECK(idle.rest() == "");
  may_go_on.release();
  reply += client.take(reply.find("\r\n\r\n") + 4 + kLength - reply.size());
  CHECK(reply.ends_with("the rest.\n"));
  client.send(kGet);
  reply = client.rest();
  CHECK(reply.starts_with("HTTP/1.1 200"));
  CHECK(has(reply, "Connection: close\r\n"));
  CHECK(world.gateway.wait() == 0);
}

TEST_CASE("SIGINT is left to the master") {
  const World world;
  CHECK(ask(world.gateway, kGet).starts_with("HTTP/1.1 200"));
  world.gateway.signal(SIGINT);
  CHECK(ask(world.gateway, kGet).starts_with("HTTP/1.1 200"));
}
