// Refusals by the front are available for the pool's status page.
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
using scoreboard::RefusalTally;

namespace {

std::shared_ptr<RefusalTally> some_tally() {
  return *RefusalTally::create(scoreboard::Refuser::kFront);
}

/// The refusal with STATUS, once it was counted TIMES times.
Refusal refusal_in(const RefusalTally& tally, std::uint32_t status, std::uint64_t times = 1) {
  Refusal found;
  const bool is_there = eventually([&] {
    const auto all = tally.read();
    const auto one = std::ranges::find(all, status, &Refusal::status);
    if (one != all.end()) found = *one;
    return one != all.end() && one->times >= times;
  });
  CHECK(is_there);
  return found;
}

}  // namespace

TEST_CASE("a request refused at its head is recorded with its path and without secrets") {
  const auto tally = some_tally();
  const World world(serve_echo, [&](GatewayOptions& options) {
    options.refusals = tally;
    options.max_body = 1000;
    options.max_header = 2000;
  });
  const auto ask_for = [&](const std::string& line, const std::string& rest = "") {
    return ask(world.gateway, line + " HTTP/1.1\r\nHost: h\r\n" + rest + "\r\n");
  };
  ask_for("POST /up?token=hidden", "Content-Length: 2000\r\n");
  const Refusal large = refusal_in(*tally, 413);
  CHECK(large.method.view() == "POST");
  CHECK(large.uri.view() == "/up");
  CHECK(large.text.view() == "a body of 2000 bytes is over the limit of 1000");
  ask_for("GET /" + std::string(3000, 'x'));
  CHECK(refusal_in(*tally, 431).uri.view() == "/" + std::string(94, 'x'));
  ask_for("POST http://ann:hidden@h/", "Transfer-Encoding: chunked\r\n");
  const Refusal unknown = refusal_in(*tally, 411);
  CHECK(unknown.method.view() == "POST");
  CHECK(unknown.uri.view().empty());
  // Not a request.
  ask(world.gateway, "\x16\x03\x01\x02");
  CHECK(refusal_in(*tally, 400).method.view().empty());
  CHECK(tally->read().size() == 4);
}

TEST_CASE("a refusal is not attributed to an earlier request on the connection") {
  const auto tally = some_tally();
  const World world(serve_echo, [&](GatewayOptions& options) { options.refusals = tally; });
  Client client(world.gateway);
  client.send("GET /before HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(client.reply().starts_with("HTTP/1.1 200"));
  client.send("\x16\x03\x01\x02");
  client.rest();
  CHECK(refusal_in(*tally, 400).uri.view().empty());
}

TEST_CASE("an unreachable pool is recorded with a count") {
  const auto tally = some_tally();
  const TemporaryFolder folder;
  const Gateway gateway(folder / "nobody",
                        [&](GatewayOptions& options) { options.refusals = tally; });
  for (int i = 0; i < 3; ++i) {
    ask(gateway, fmt::format("GET /page{}?x=hidden HTTP/1.1\r\nHost: h\r\n\r\n", i));
  }
  const Refusal last = refusal_in(*tally, 502, 3);
  CHECK(last.times == 3);
  CHECK(last.uri.view() == "/page2");
  CHECK(last.text.view() == "the pool cannot be reached");
}

TEST_CASE("excess connections are all counted, although only one line is logged") {
  const auto tally = some_tally();
  const World world(serve_echo, [&](GatewayOptions& options) {
    options.refusals = tally;
    options.max_connections_per_address = 1;
    // No client counts as silent.
    options.min_rate = 0;
  });
  Client first(world.gateway);
  first.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 5; ++i) Client(world.gateway).rest();
  CHECK(refusal_in(*tally, 503, 5).text.view() == "too many connections from your address");
  const std::string log = world.gateway.log();
  CHECK(log.find("503 more than") == log.rfind("503 more than"));
}

TEST_CASE("a browser whose address has too many connections gets a page") {
  const World world(serve_echo, [](GatewayOptions& options) {
    options.max_connections_per_address = 1;
    options.min_rate = 0;
  });
  Client first(world.gateway);
  first.send("GET / HTTP/1.1\r\n");
  Client second(world.gateway);
  second.send("GET / HTTP/1.1\r\nHost: h\r\nAcc");
  second.send("ept: text/html\r\n\r\n");
  const std::string reply = second.rest();
  CHECK(reply.starts_with("HTTP/1.1 503 "));
  CHECK(reply.contains("Content-Type: text/html"));
}

TEST_CASE("a browser that sends too many cookies gets a page") {
  const World world(serve_echo, [](GatewayOptions& options) { options.max_header = 2000; });
  const std::string reply =
      ask(world.gateway, "GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\nCookie: " +
                             std::string(3000, 'x') + "\r\n\r\n");
  CHECK(reply.starts_with("HTTP/1.1 431 "));
  CHECK(reply.contains("Content-Type: text/html"));
}
