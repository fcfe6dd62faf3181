// Tests the limits on connections, bodies and replies with many clients.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <list>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "eventually.h"
#include "quarry/base/fd.h"
#include "quarry/base/passed_connections.h"
#include "world.h"

using namespace quarry::gateway;
using namespace quarry::gateway::testing;
using namespace std::chrono_literals;

namespace {

const std::string kElsewhere = "127.0.0.2";
constexpr std::string_view kUnfinishedBody =
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx";

/// A pool that signals `here` for each request, and waits for `may_answer` before it answers.
struct HeldPool {
  std::counting_semaphore<100> here{0};
  std::counting_semaphore<100> may_answer{0};

  Pool::Serve serve() {
    return [this](int connection) {
      if (Pool::read_request(connection).params.empty()) return;
      here.release();
      CHECK(may_answer.try_acquire_for(kPatienceTime));
      Pool::write(connection, fastcgi_answer("X: y\r\n\r\ndone"));
    };
  }
};

/// Answers requests for /large with LARGE, and all other requests with a short reply.
Pool::Serve large_or_small(const std::string& large) {
  return [large](int connection) {
    const bool wants_large = Pool::read_request(connection).params["REQUEST_URI"] == "/large";
    Pool::write(connection, wants_large ? large : fastcgi_answer("X: y\r\n\r\nsmall"));
  };
}

}  // namespace

TEST_CASE("requests over the limit per address are refused, those of others are not") {
  HeldPool pool;
  const World world(pool.serve(), {.max_connections_per_address = 2});
  Client first(world.gateway);
  first.send(kGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client second(world.gateway);
  second.send(kGet);
  const std::string third = Client(world.gateway).rest();
  CHECK(third.starts_with("HTTP/1.1 503 "));
  CHECK(third.ends_with("503 Service Unavailable: too many connections from your address\n"));
  CHECK(world.gateway.log().contains(
      "client 127.0.0.1: 503 more than 2 connections from one address"));
  Client other(world.gateway, kElsewhere);
  other.send(kGet);
  pool.may_answer.release(3);
  for (Client* client : {&first, &second, &other}) CHECK(client->reply().contains("done"));
  pool.may_answer.release();
  CHECK(ask(world.gateway).contains("done"));
}

TEST_CASE("a request is handled before those of a crowd from another address") {
  HeldPool pool;
  std::mutex mutex;
  std::vector<std::string> handled;  // addresses of the clients, in the order of their requests
  std::list<std::jthread> threads;   // handle the requests concurrently
  const World world(
      [&](int connection) {
        auto request = Pool::read_request(connection);
        if (request.params.empty()) return;
        {
          const std::scoped_lock lock(mutex);
          handled.push_back(request.params["REMOTE_ADDR"]);
        }
        pool.here.release();
        threads.emplace_back([&pool, copy = quarry::base::Fd(::dup(connection))] {
          CHECK(pool.may_answer.try_acquire_for(kPatienceTime));
          Pool::write(copy.get(), fastcgi_answer("X: y\r\n\r\ndone"));
        });
      },
      {.max_handled_per_address = 1});
  Client first(world.gateway);
  first.send(kGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  std::list<Client> crowd;
  for (int i = 0; i < 4; ++i) crowd.emplace_back(world.gateway).send(kGet);
  Client other(world.gateway, kElsewhere);
  other.send(kGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  {
    const std::scoped_lock lock(mutex);
    CHECK(handled == std::vector<std::string>{"127.0.0.1", kElsewhere});
  }
  crowd.front().close();
  pool.may_answer.release(6);
  CHECK(other.reply().contains("done"));
  CHECK(first.reply().contains("done"));
  CHECK(crowd.back().reply().contains("done"));
}

TEST_CASE("a connection over the limit per address replaces an idle one, with few log lines") {
  const World world(serve_echo, {.max_connections_per_address = 2});
  std::list<Client> clients;
  for (int i = 0; i < 100; ++i) {
    CHECK(clients.emplace_back(world.gateway).is_served());
    if (clients.size() > 2) CHECK(std::prev(clients.end(), 3)->rest() == "");
  }
  CHECK(clients.back().is_served());
  CHECK(std::prev(clients.end(), 2)->is_served());
  CHECK(std::ranges::count(world.gateway.log(), '\n') <= 3);
}

TEST_CASE("without a limit per address, an address may have many connections") {
  const World world(serve_echo, {.max_connections_per_address = 0});
  std::list<Client> clients;
  for (int i = 0; i < 150; ++i) CHECK(clients.emplace_back(world.gateway).is_served());
  for (Client& client : clients) CHECK(client.is_served());
}

TEST_CASE(
    "a new connection replaces the one that has been silent longest, from any number of "
    "addresses") {
  const World world(serve_echo, {.max_connections = 20});
  std::list<Client> silent;
  for (int i = 0; i < 60; ++i) silent.emplace_back(world.gateway, fmt::format("127.0.{}.7", i));
  CHECK(Client(world.gateway, kElsewhere).is_served());
  CHECK(silent.front().rest() == "");
  CHECK(wait_for_log(world.gateway, "closed for a new client: all 20 connections are in use"));
}

TEST_CASE("connections of the address with the most are closed first") {
  const World world(serve_echo, {.max_connections = 6});
  Client lone(world.gateway, kElsewhere);
  CHECK(lone.is_served());
  std::list<Client> many;
  for (int i = 0; i < 20; ++i) CHECK(many.emplace_back(world.gateway).is_served());
  CHECK(lone.is_served());
  CHECK(many.back().is_served());
}

TEST_CASE("a client that sends half a head, or a body too slowly, is closed for others") {
  for (const std::string_view start : {std::string_view("GET / HT"), kUnfinishedBody}) {
    CAPTURE(start);
    const World world(serve_echo, {.max_connections = 4});
    std::list<Client> slow;
    for (int i = 0; i < 4; ++i) {
      slow.emplace_back(world.gateway, fmt::format("127.0.{}.7", i)).send(start);
    }
    CHECK(Client(world.gateway, kElsewhere).is_served());
    CHECK_FALSE(world.gateway.log().contains("incomplete request"));
  }
}

TEST_CASE("connections that were accepted together beyond the limit are closed later") {
  const World world(serve_echo, {.max_connections = 4});
  world.gateway.signal(SIGSTOP);
  std::list<Client> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(world.gateway, fmt::format("127.0.{}.7", i)).send(kUnfinishedBody);
  }
  world.gateway.signal(SIGCONT);
  CHECK(Client(world.gateway, kElsewhere).is_served());
}

TEST_CASE(
    "a client that does not read its reply is closed for others, and after a timeout anyway") {
  const std::string large = fastcgi_answer("X: y\r\n\r\n" + std::string(20'000'000, 'x'));
  for (const bool is_crowded : {true, false}) {
    CAPTURE(is_crowded);
    const World world(Pool::answering(large), {.max_connections = is_crowded ? 1U : 10U,
                                               .client_timeout = is_crowded ? 30s : 200ms,
                                               .min_rate = 100'000'000});
    Client reader(world.gateway);
    reader.send(kGet);
    CHECK(reader.take(1) == "H");
    if (is_crowded) {
      Client newcomer(world.gateway, kElsewhere);
      newcomer.send(kGet);
      CHECK(newcomer.take(1) == "H");
    } else {
      CHECK(wait_for_log(
          world.gateway,
          "client 127.0.0.1: connection closed, because the client does not read its reply: "));
    }
    CHECK(reader.rest().size() < large.size() / 2);
  }
}

TEST_CASE(
    "bytes that the kernel has accepted for a client that reads nothing do not extend its time") {
  const std::string large = fastcgi_answer("X: y\r\n\r\n" + std::string(20'000'000, 'x'));
  // The kernel buffers megabytes of the reply. These bytes must not count as read, or min_rate
  // would extend the client's time by minutes.
  const World world(Pool::answering(large), {.client_timeout = 200ms, .min_rate = 20'000});
  const Client reader(world.gateway);
  reader.send(kGet);
  CHECK(wait_for_log(world.gateway, "closed, because the client does not read its reply"));
}

TEST_CASE("a page is read from the page server only as fast as its client reads it") {
  constexpr std::size_t kSize = 20'000'000;
  const auto pages = quarry::base::PassedConnections::make();
  REQUIRE(pages);
  const TemporaryFolder folder;
  const Gateway gateway(folder / "pool", {.pages_passing = pages->passing.get()});
  Client reader(gateway);
  reader.send(get("/timeline"));
  quarry::base::Fd connection;
  REQUIRE(eventually([&] {
    connection = quarry::base::take_connection(pages->taking.get());
    return static_cast<bool>(connection);
  }));
  const std::string reply =
      fastcgi_answer(fmt::format("Content-Length: {}\r\n\r\n", kSize) + std::string(kSize, 'x'));
  std::size_t sent = 0;
  const auto send_more = [&] {
    const ssize_t size = ::send(connection.get(), reply.data() + sent, reply.size() - sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    sent += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    return size > 0;
  };
  // Sends until the gateway has not read anything for half a second.
  for (int idle = 0; idle < 50; ++idle) {
    while (send_more()) idle = 0;
    ::usleep(10'000);
  }
  CHECK(sent < 2'000'000);
  std::thread rest([&] {
    eventually([&] {
      while (send_more()) continue;
      return sent == reply.size();
    });
  });
  const std::string page = reader.reply();
  rest.join();
  CHECK(page.ends_with(std::string(kSize, 'x')));
}

TEST_CASE("a burst does not excuse a long silence" * doctest::test_suite("long")) {
  const World world(large_or_small(fastcgi_answer("X: y\r\n\r\n" + std::string(20'000'000, 'x'))),
                    // The long timeout ensures that connections are closed only because of
                    // max_connections.
                    {.max_connections = 1, .client_timeout = 10min});
  Client sender(world.gateway);
  sender.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  sender.send(std::string(100'000, 'x'));
  Client reader(world.gateway, kElsewhere);
  reader.send(get("/large"));
  CHECK(reader.take(1) == "H");
  CHECK(Client(world.gateway, "127.0.0.3").is_served());
  CHECK(sender.rest() == "");
}

TEST_CASE("the largest buffered body is refused in favor of small requests") {
  const World world(serve_echo, {.max_bodies = 1'000'000});
  const std::string large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n";
  Client holder(world.gateway);
  holder.send(large + std::string(999'900 - large.size(), 'x'));
  Client other(world.gateway, kElsewhere);
  for (int i = 0; i < 100; ++i) {
    other.send(post(std::string(1'000, 'y')));
    CHECK(other.reply().starts_with(kOk));
  }
  CHECK(holder.reply().starts_with("HTTP/1.1 503 "));
  CHECK(world.gateway.log().contains(
      "client 127.0.0.1: 503 too many large requests at the same time"));
  holder.close();
  // The large body no longer counts toward max_bodies.
  for (int i = 0; i < 5; ++i) {
    other.send(post(std::string(900'000, 'y')));
    CHECK(other.reply().starts_with(kOk));
  }
}

TEST_CASE("buffered replies that are not read are limited") {
  const std::string large = std::string(20'000'000, 'x');
  const World world(large_or_small(fastcgi_answer(
                        fmt::format("Content-Length: {}\r\n\r\n", large.size()) + large)),
                    {.max_replies = 30'000'000});
  std::list<Client> readers;
  for (int i = 0; i < 3; ++i) {
    Client& reader = readers.emplace_back(world.gateway);
    reader.send(get("/large"));
    CHECK(reader.take(1) == "H");
    CHECK(ask(world.gateway).contains("small"));
  }
  CHECK(wait_for_log(world.gateway, "the buffered replies of all clients exceed max_replies"));
  CHECK(std::ranges::count_if(
            readers, [&](Client& reader) { return reader.reply().size() > large.size(); }) == 1);
}

TEST_CASE("while all clients keep up, a new one waits") {
  HeldPool pool;
  const World world(pool.serve(), {.max_connections = 1});
  Client busy(world.gateway);
  busy.send(kGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client newcomer(world.gateway, kElsewhere);
  newcomer.send(kGet);
  pool.may_answer.release();
  CHECK(busy.reply().contains("done"));
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  pool.may_answer.release();
  // The first connection stayed open until its reply was sent, and was then closed for the new
  // client.
  CHECK(busy.rest() == "");
  CHECK(newcomer.reply().contains("done"));
}

TEST_CASE(
    "a connection that is answered when the limit is exceeded is closed after its whole reply") {
  HeldPool pool;
  const World world(pool.serve(), {.max_connections = 1});
  pool.may_answer.release();
  Client kept(world.gateway);
  CHECK(kept.is_served());
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  // When the gateway continues, it finds the request and the new connection in the same iteration
  // of its loop.
  world.gateway.signal(SIGSTOP);
  siginfo_t stopped;
  REQUIRE(::waitid(P_ALL, 0, &stopped, WSTOPPED) == 0);
  kept.send(kGet);
  Client newcomer(world.gateway, kElsewhere);
  newcomer.send(kGet);
  world.gateway.signal(SIGCONT);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  pool.may_answer.release(2);
  CHECK(kept.reply().contains("done"));
  CHECK(kept.rest() == "");
  CHECK(newcomer.reply().contains("done"));
}

TEST_CASE("a trusted proxy is not limited, but each client that it forwards is") {
  HeldPool pool;
  const World world(pool.serve(),
                    {.trusted_proxies = set_of({"127.0.0.1"}), .max_connections_per_address = 2});
  const auto from = [](std::string_view client) {
    return get("/", fmt::format("X-Forwarded-For: {}\r\n", client));
  };
  std::list<Client> held;
  for (const char* client : {"2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"}) {
    held.emplace_back(world.gateway).send(from(client));
  }
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  pool.may_answer.release();
  CHECK(held.front().reply().contains("done"));
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  held.front().send(from("2001:db8::1"));
  Client third(world.gateway);
  std::string reply;
  while (!reply.starts_with("HTTP/1.1 503 ")) {
    third.send(from("2001:db8:0:0:ffff::"));
    reply = third.reply();
    REQUIRE(reply != "");
  }
  CHECK(reply.contains("too many requests from your address"));
  // The kept-alive connection no longer counts toward the limit of its first client.
  third.send(from("2001:db8:0:1::"));
  pool.may_answer.release(5);
  CHECK(third.reply().contains("done"));
  for (Client& client : held) CHECK(client.reply().contains("done"));
}

TEST_CASE("requests for which a trusted proxy forwards no address are not limited") {
  HeldPool pool;
  const World world(pool.serve(),
                    {.trusted_proxies = set_of({"127.0.0.1"}), .max_connections_per_address = 1});
  Client first(world.gateway);
  first.send(kGet);
  REQUIRE(pool.here.try_acquire_for(kPatienceTime));
  Client second(world.gateway);
  second.send(kGet);
  Client third(world.gateway);
  third.send(get("/", "X-Forwarded-For: unknown\r\n"));
  CHECK(ask(world.gateway, "\r\r\n" + std::string(kGet)).starts_with("HTTP/1.1 400"));
  pool.may_answer.release(3);
  for (Client* client : {&first, &second, &third}) CHECK(client->reply().contains("done"));
}

TEST_CASE("a client waits while the gateway cannot open more descriptors") {
  const World world;
  CHECK(Client(world.gateway).is_served());
  world.gateway.limit_descriptors(3);
  Client waiting(world.gateway);
  CHECK(wait_for_log(world.gateway, "cannot accept a connection: Too many open files"));
  world.gateway.limit_descriptors(1000);
  CHECK(waiting.is_served());
}

TEST_CASE("empty lines before a request are skipped") {
  const World world;
  for (const std::string_view before : {"\r\n", "\n", "\r\n\r\n\n"}) {
    CAPTURE(before);
    const std::string request = std::string(before) + std::string(kGet);
    CHECK(ask(world.gateway, request).starts_with(kOk));
    // Send the same bytes one by one, after another request on the same connection.
    Client client(world.gateway);
    CHECK(client.is_served());
    for (const char byte : request) {
      client.send({&byte, 1});
      ::usleep(1'000);
    }
    CHECK(client.reply().starts_with(kOk));
  }
  CHECK(ask(world.gateway, "\r\r\n" + std::string(kGet)).starts_with("HTTP/1.1 400"));
  CHECK_FALSE(world.gateway.log().contains("incomplete request"));
}
