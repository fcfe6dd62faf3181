#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <list>
#include <semaphore>
#include <string>

#include "eventually.h"
#include "quarry/gateway/gateway.h"
#include "world.h"

using namespace quarry::gateway;
using namespace quarry::gateway::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kCrowdGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kElsewhere = "127.0.0.2";

bool contains_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_served(Client& client) {
  client.send(kCrowdGet);
  return client.reply().starts_with("HTTP/1.1 200");
}

bool wait_for_log(const Gateway& gateway, std::string_view line) {
  return eventually([&] { return contains_text(gateway.log(), line); });
}

/// Reports each request, and answers when permitted.
struct HeldPool {
  std::counting_semaphore<100> here{0};
  std::counting_semaphore<100> may_answer{0};

  void operator()(int connection) {
    if (Pool::read_request(connection).params.empty()) return;
    here.release();
    CHECK(may_answer.try_acquire_for(kPatienceTime));
    Pool::write(connection, fastcgi_answer("X: y\r\n\r\ndone"));
  }
};

}  // namespace

TEST_CASE("requests over the limit per address are refused, those of others are not") {
  HeldPool pool;
  const World world([&pool](int connection) { pool(connection); },
                    [](GatewayOptions& options) { options.max_connections_per_address = 2; });
  Client first(world.gateway);
  first.send(kCrowdGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client second(world.gateway);
  second.send(kCrowdGet);
  const std::string third = Client(world.gateway).rest();
  CHECK(third.starts_with("HTTP/1.1 503 "));
  CHECK(third.ends_with("503 Service Unavailable: too many connections from your address\n"));
  CHECK(contains_text(world.gateway.log(),
                      "client 127.0.0.1: 503 more than 2 connections from one address"));
  Client other(world.gateway, kElsewhere);
  other.send(kCrowdGet);
  pool.may_answer.release(3);
  for (Client* client : {&first, &second, &other}) CHECK(contains_text(client->reply(), "done"));
  pool.may_answer.release();
  CHECK(contains_text(ask(world.gateway, kCrowdGet), "done"));
}

TEST_CASE("a connection over the limit per address replaces an idle one of that address") {
  const World world(serve_echo,
                    [](GatewayOptions& options) { options.max_connections_per_address = 2; });
  Client first(world.gateway);
  Client second(world.gateway);
  CHECK(is_served(first));
  CHECK(is_served(second));
  Client third(world.gateway);
  CHECK(is_served(third));
  CHECK(first.rest() == "");
  CHECK(is_served(second));
}

TEST_CASE("log lines about too many clients are rate-limited") {
  const World world(serve_echo,
                    [](GatewayOptions& options) { options.max_connections_per_address = 1; });
  std::list<Client> clients;
  for (int i = 0; i < 100; ++i) CHECK(is_served(clients.emplace_back(world.gateway)));
  const std::string log = world.gateway.log();
  CHECK(std::count(log.begin(), log.end(), '\n') <= 3);
}

TEST_CASE("without a limit per address") {
  const World world(serve_echo,
                    [](GatewayOptions& options) { options.max_connections_per_address = 0; });
  std::list<Client> clients;
  for (int i = 0; i < 150; ++i) CHECK(is_served(clients.emplace_back(world.gateway)));
  for (Client& client : clients) CHECK(is_served(client));
}

TEST_CASE(
    "a new connection replaces the one that has been silent longest, from any number of "
    "addresses") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_connections = 20; });
  std::list<Client> silent;
  for (int i = 0; i < 60; ++i) silent.emplace_back(world.gateway, fmt::format("127.0.{}.7", i));
  Client newcomer(world.gateway, kElsewhere);
  CHECK(is_served(newcomer));
  CHECK(silent.front().rest() == "");
  CHECK(wait_for_log(world.gateway, "closed for another: all 20 connections are taken"));
}

TEST_CASE("connections of the address with the most are closed first") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_connections = 6; });
  Client lone(world.gateway, kElsewhere);
  CHECK(is_served(lone));
  std::list<Client> many;
  for (int i = 0; i < 20; ++i) CHECK(is_served(many.emplace_back(world.gateway)));
  CHECK(is_served(lone));
  CHECK(is_served(many.back()));
}

TEST_CASE("a client that sends half a head, or a body too slowly, is closed for others") {
  const std::string body_that_stops =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx";
  for (const std::string& start : {std::string("GET / HT"), body_that_stops}) {
    CAPTURE(start);
    const World world(serve_echo, [](GatewayOptions& options) { options.max_connections = 4; });
    std::list<Client> slow;
    for (int i = 0; i < 4; ++i) {
      slow.emplace_back(world.gateway, fmt::format("127.0.{}.7", i)).send(start);
    }
    Client newcomer(world.gateway, kElsewhere);
    CHECK(is_served(newcomer));
    CHECK_FALSE(contains_text(world.gateway.log(), "left in the middle"));
  }
}

TEST_CASE("connections that were accepted together beyond the limit are closed later") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_connections = 4; });
  world.gateway.signal(SIGSTOP);
  std::list<Client> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(world.gateway, fmt::format("127.0.{}.7", i))
        .send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx");
  }
  world.gateway.signal(SIGCONT);
  Client newcomer(world.gateway, kElsewhere);
  CHECK(is_served(newcomer));
}

TEST_CASE(
    "a client that does not read its reply is closed for others, and after a timeout anyway") {
  const std::string large = fastcgi_answer("X: y\r\n\r\n" + std::string(20'000'000, 'x'));
  for (const bool is_crowded : {true, false}) {
    CAPTURE(is_crowded);
    const World world(
        [&large](int connection) {
          Pool::read_request(connection);
          Pool::write(connection, large);
        },
        [&](GatewayOptions& options) {
          options.max_connections = is_crowded ? 1 : 10;
          if (!is_crowded) options.client_timeout = 200ms;
          options.min_rate = 100'000'000;
        });
    Client reader(world.gateway);
    reader.send(kCrowdGet);
    CHECK(reader.take(1) == "H");
    if (is_crowded) {
      Client newcomer(world.gateway, kElsewhere);
      newcomer.send(kCrowdGet);
      CHECK(newcomer.take(1) == "H");
    } else {
      CHECK(wait_for_log(world.gateway,
                         "client 127.0.0.1: closed, since it does not take its reply: "));
    }
    CHECK(reader.rest().size() < large.size() / 2);
  }
}

TEST_CASE("a burst does not excuse a long silence" * doctest::test_suite("long")) {
  const std::string large = fastcgi_answer("X: y\r\n\r\n" + std::string(20'000'000, 'x'));
  const World world(
      [&large](int connection) {
        if (Pool::read_request(connection).params.at("REQUEST_URI") == "/large") {
          return Pool::write(connection, large);
        }
        Pool::write(connection, fastcgi_answer("X: y\r\n\r\nsmall"));
      },
      [](GatewayOptions& options) {
        options.max_connections = 1;
        // So that only the new connection can be the reason why they end.
        options.client_timeout = 10min;
      });
  Client sender(world.gateway);
  sender.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  sender.send(std::string(100'000, 'x'));
  Client reader(world.gateway, kElsewhere);
  reader.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(reader.take(1) == "H");
  Client newcomer(world.gateway, "127.0.0.3");
  CHECK(is_served(newcomer));
  CHECK(sender.rest() == "");
}

TEST_CASE("the largest buffered body is refused in favour of small requests") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_bodies = 1'000'000; });
  const std::string large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n";
  Client holder(world.gateway);
  holder.send(large + std::string(999'900 - large.size(), 'x'));
  Client other(world.gateway, kElsewhere);
  const std::string small = std::string(1'000, 'y');
  for (int i = 0; i < 100; ++i) {
    other.send(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}",
                           small.size(), small));
    CHECK(other.reply().starts_with("HTTP/1.1 200"));
  }
  CHECK(holder.reply().starts_with("HTTP/1.1 503 "));
  CHECK(contains_text(world.gateway.log(),
                      "client 127.0.0.1: 503 too many large requests at the same time"));
}

TEST_CASE("buffered replies that are not read are limited") {
  const std::string large = std::string(20'000'000, 'x');
  const std::string answer =
      fastcgi_answer(fmt::format("Content-Length: {}\r\n\r\n", large.size()) + large);
  const World world(
      [&answer](int connection) {
        const bool wants_large = Pool::read_request(connection).params["REQUEST_URI"] == "/large";
        Pool::write(connection, wants_large ? answer : fastcgi_answer("X: y\r\n\r\nsmall"));
      },
      [](GatewayOptions& options) { options.max_replies = 30'000'000; });
  std::list<Client> readers;
  for (int i = 0; i < 3; ++i) {
    Client& reader = readers.emplace_back(world.gateway);
    reader.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(reader.take(1) == "H");
    CHECK(contains_text(ask(world.gateway, kCrowdGet), "small"));
  }
  CHECK(wait_for_log(world.gateway, "more is held of all replies than max_replies allows"));
  int whole = 0;
  for (Client& reader : readers) whole += reader.reply().size() > large.size() ? 1 : 0;
  CHECK(whole == 1);
}

TEST_CASE("while all clients keep up, a new one waits") {
  HeldPool pool;
  const World world([&pool](int connection) { pool(connection); },
                    [](GatewayOptions& options) { options.max_connections = 1; });
  Client busy(world.gateway);
  busy.send(kCrowdGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client newcomer(world.gateway, kElsewhere);
  newcomer.send(kCrowdGet);
  pool.may_answer.release();
  CHECK(contains_text(busy.reply(), "done"));
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  pool.may_answer.release();
  // The busy connection was kept, but its slot was free.
  CHECK(busy.rest() == "");
  CHECK(contains_text(newcomer.reply(), "done"));
}

TEST_CASE(
    "a connection that is answered when the limit is exceeded is closed after its whole reply") {
  HeldPool pool;
  const World world([&pool](int connection) { pool(connection); },
                    [](GatewayOptions& options) { options.max_connections = 1; });
  pool.may_answer.release();
  Client kept(world.gateway);
  CHECK(is_served(kept));
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  // The gateway sees the request and the new connection in the same iteration.
  world.gateway.signal(SIGSTOP);
  siginfo_t stopped;
  REQUIRE(::waitid(P_ALL, 0, &stopped, WSTOPPED) == 0);
  kept.send(kCrowdGet);
  Client newcomer(world.gateway, kElsewhere);
  newcomer.send(kCrowdGet);
  world.gateway.signal(SIGCONT);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  pool.may_answer.release(2);
  CHECK(contains_text(kept.reply(), "done"));
  CHECK(kept.rest() == "");
  CHECK(contains_text(newcomer.reply(), "done"));
}

TEST_CASE("a trusted proxy is not limited, but each client that it forwards is") {
  HeldPool pool;
  const World world([&pool](int connection) { pool(connection); },
                    [](GatewayOptions& options) {
                      options.max_connections_per_address = 2;
                      options.trusted_proxies =
                          AddressSet::parse(std::vector<std::string>{"127.0.0.1"}).value();
                    });
  const auto from = [](std::string_view client) {
    return fmt::format("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {}\r\n\r\n", client);
  };
  std::list<Client> held;
  for (const char* client : {"2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"}) {
    held.emplace_back(world.gateway).send(from(client));
  }
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  // All have arrived when their requests are answered in order.
  pool.may_answer.release();
  CHECK(contains_text(held.front().reply(), "done"));
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  held.front().send(from("2001:db8::1"));
  Client third(world.gateway);
  std::string reply;
  while (!reply.starts_with("HTTP/1.1 503 ")) {
    third.send(from("2001:db8:0:0:ffff::"));
    reply = third.reply();
    REQUIRE(reply != "");
  }
  CHECK(contains_text(reply, "too many requests from your address"));
  // Its connection is kept alive, and no longer counts for that client.
  third.send(from("2001:db8:0:1::"));
  pool.may_answer.release(5);
  CHECK(contains_text(third.reply(), "done"));
  for (Client& client : held) CHECK(contains_text(client.reply(), "done"));
}

TEST_CASE("requests for which a trusted proxy forwards no address are not limited") {
  HeldPool pool;
  const World world([&pool](int connection) { pool(connection); },
                    [](GatewayOptions& options) {
                      options.max_connections_per_address = 1;
                      options.trusted_proxies =
                          AddressSet::parse(std::vector<std::string>{"127.0.0.1"}).value();
                    });
  Client first(world.gateway);
  first.send(kCrowdGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client second(world.gateway);
  second.send(kCrowdGet);
  Client third(world.gateway);
  third.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: unknown\r\n\r\n");
  // The front has read these lines before it refuses the request after them.
  CHECK(ask(world.gateway, "\r\r\n" + std::string(kCrowdGet)).starts_with("HTTP/1.1 400"));
  pool.may_answer.release(3);
  for (Client* client : {&first, &second, &third}) CHECK(contains_text(client->reply(), "done"));
}

TEST_CASE("empty lines before a request are skipped") {
  const World world;
  for (const std::string_view before : {"\r\n", "\n", "\r\n\r\n\n"}) {
    CAPTURE(before);
    CHECK(ask(world.gateway, std::string(before) + std::string(kCrowdGet))
              .starts_with("HTTP/1.1 200"));
    // Byte by byte, and also after a request.
    Client client(world.gateway);
    CHECK(is_served(client));
    for (const char byte : std::string(before) + std::string(kCrowdGet)) {
      client.send({&byte, 1});
      ::usleep(1'000);
    }
    CHECK(client.reply().starts_with("HTTP/1.1 200"));
  }
  CHECK(ask(world.gateway, "\r\r\n" + std::string(kCrowdGet)).starts_with("HTTP/1.1 400"));
  CHECK(world.gateway.log().find("left in") == std::string::npos);
}

TEST_CASE("a client that only sends empty lines counts as silent") {
  const World world(serve_echo, [](GatewayOptions& options) { options.client_timeout = 200ms; });
  Client client(world.gateway);
  client.send("\r\n\r\n\r");
  CHECK(client.rest() == "");
  CHECK(world.gateway.log() == "");
}
