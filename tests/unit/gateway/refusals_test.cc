#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "eventually.h"
#include "quarry/scoreboard/refusal_tally.h"
#include "world.h"

using namespace quarry;
using namespace quarry::gateway;
using namespace quarry::gateway::testing;
using scoreboard::Refusal;

namespace {

struct Tally {
  std::shared_ptr<scoreboard::RefusalTally> shared =
      *scoreboard::RefusalTally::create(scoreboard::Refuser::kFront);

  /// Waits until a refusal with STATUS has been counted TIMES times, and returns it.
  Refusal of(std::uint32_t status, std::uint64_t times = 1) const {
    Refusal found;
    CHECK(eventually([&] {
      const auto all = shared->read();
      const auto one = std::ranges::find(all, status, &Refusal::status);
      if (one != all.end()) found = *one;
      return found.times >= times && found.status == status;
    }));
    return found;
  }
};

}  // namespace

TEST_CASE("a request refused at its head is recorded with its path and without secrets") {
  const Tally tally;
  const World world(serve_echo, {.refusals = tally.shared, .max_header = 2000, .max_body = 1000});
  const auto ask_for = [&](const std::string& line, const std::string& rest = "") {
    return ask(world.gateway, line + " HTTP/1.1\r\nHost: h\r\n" + rest + "\r\n");
  };
  ask_for("POST /up?token=hidden", "Content-Length: 2000\r\n");
  const Refusal large = tally.of(413);
  CHECK(large.method.view() == "POST");
  CHECK(large.uri.view() == "/up");
  CHECK(large.text.view() == "a body of 2000 bytes exceeds the limit of 1000");
  ask_for("GET /" + std::string(3000, 'x'));
  CHECK(tally.of(431).uri.view() == "/" + std::string(94, 'x'));
  ask_for("POST http://ann:hidden@h/");
  const Refusal unknown = tally.of(411);
  CHECK(unknown.method.view() == "POST");
  CHECK(unknown.uri.view().empty());
  // These bytes are not a request. The refusal must not contain data of the previous request.
  Client client(world.gateway);
  CHECK(client.is_served());
  client.send("\x16\x03\x01\x02");
  client.rest();
  CHECK(tally.of(400).method.view().empty());
  CHECK(tally.of(400).uri.view().empty());
  CHECK(tally.shared->read().size() == 4);
}

TEST_CASE("an unreachable pool is recorded with a count") {
  const Tally tally;
  const TemporaryFolder folder;
  const Gateway gateway(folder / "nobody", {.refusals = tally.shared});
  for (int i = 0; i < 3; ++i) ask(gateway, get(fmt::format("/page{}?x=hidden", i)));
  const Refusal last = tally.of(502, 3);
  CHECK(last.times == 3);
  CHECK(last.uri.view() == "/page2");
  CHECK(last.text.view() == "the pool cannot be reached");
}

TEST_CASE("excess connections are all counted, only one is logged, and browsers get a page") {
  const Tally tally;
  // With a minimum rate of 0, slow clients are not closed in favor of new ones.
  const World world(serve_echo,
                    {.refusals = tally.shared, .max_connections_per_address = 1, .min_rate = 0});
  Client first(world.gateway);
  first.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 4; ++i) Client(world.gateway).rest();
  Client browser(world.gateway);
  browser.send("GET / HTTP/1.1\r\nHost: h\r\nAcc");
  browser.send("ept: text/html\r\n\r\n");
  const std::string reply = browser.rest();
  CHECK(reply.starts_with("HTTP/1.1 503 "));
  CHECK(reply.contains("Content-Type: text/html"));
  CHECK(tally.of(503, 5).text.view() == "too many connections from your address");
  const std::string log = world.gateway.log();
  CHECK(log.find("503 more than") == log.rfind("503 more than"));
}

TEST_CASE("a browser that sends too many cookies gets a page") {
  const World world(serve_echo, {.max_header = 2000});
  const std::string reply = ask(
      world.gateway, get("/", "Accept: text/html\r\nCookie: " + std::string(3000, 'x') + "\r\n"));
  CHECK(reply.starts_with("HTTP/1.1 431 "));
  CHECK(reply.contains("Content-Type: text/html"));
}
