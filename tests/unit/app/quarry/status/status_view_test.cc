#include "status/status_view.h"

#include <doctest/doctest.h>

using namespace quarry::app;

namespace {

PoolStatus pool(const std::string& name, std::uint64_t active, const Totals& totals) {
  PoolStatus one;
  one.name = name;
  one.active = active;
  one.max_children = 9;
  one.totals = totals;
  return one;
}

Look look(double at, std::vector<PoolStatus> pools) {
  Look one;
  one.at = at;
  one.server.pools = std::move(pools);
  return one;
}

/// The first word of each line of the table of pools.
std::string order_of(const Lines& lines) {
  std::string names;
  for (std::size_t i = 1; i < lines.size() && !lines[i].empty(); ++i) {
    names += lines[i].substr(0, lines[i].find(' ')) + " ";
  }
  return names;
}

}  // namespace

TEST_CASE("the pool that does most comes first, by what was asked for") {
  const Look before = look(10, {pool("idle", 0, {}), pool("few", 5, {.requests = 50}),
                                pool("many", 1, {.requests = 7})});
  const Look after =
      look(11, {pool("idle", 0, {}), pool("few", 5, {.requests = 52, .bytes_in = 4096}),
                pool("many", 1, {.requests = 47, .bytes_out = 10})});
  CHECK(order_of(activity_lines(before, after, Order::kRequests, 0)) == "many few idle ");
  CHECK(order_of(activity_lines(before, after, Order::kBytes, 0)) == "few many idle ");
  CHECK(order_of(activity_lines(before, after, Order::kActive, 0)) == "few many idle ");
  CHECK(order_of(activity_lines(before, after, Order::kName, 0)) == "few idle many ");
  const Lines lines = activity_lines(before, after, Order::kRequests, 0);
  CHECK(lines[1].find(" 40.0 ") != std::string::npos);
  CHECK(lines[2].find(" 4.0K ") != std::string::npos);
}

TEST_CASE("without a look before, or of a pool that is new, nothing is known to have happened") {
  const Look after = look(11, {pool("www", 0, {.requests = 1000})});
  CHECK(activity_lines(std::nullopt, after, Order::kRequests, 0)[1].find("1000") ==
        std::string::npos);
  CHECK(activity_lines(look(10, {}), after, Order::kRequests, 0)[1].find("1000") ==
        std::string::npos);
}

TEST_CASE("of the workers those at work are shown, the longest request first") {
  PoolStatus one = pool("www", 2, {});
  one.children = {{.pid = 1, .state = "Running", .duration = 5000},
                  {.pid = 2, .state = "Idle", .duration = 9000000},
                  {.pid = 3, .state = "Running", .duration = 7000}};
  const Lines lines = activity_lines(std::nullopt, look(1, {one}), Order::kRequests, 0);
  REQUIRE(lines.size() == 6);
  CHECK(lines[4].find("7.0ms") != std::string::npos);
  CHECK(lines[5].find("5.0ms") != std::string::npos);
}

TEST_CASE("a crash loop, elders and crashes are told where there are any") {
  ServerStatus server;
  server.pools = {pool("www", 0, {})};
  CHECK(server_lines(server, 100).size() == 1);
  CHECK(pool_lines(server, 100)[1].ends_with(" 0"));
  server.elders = 2;
  server.crashes = 3;
  server.emergency_restart_threshold = 5;
  server.pools[0].next_start = 104;
  server.pools[0].backoff_reason = "a child exited";
  server.pools[0].elders = 2;
  server.pools[0].held_back = 3;
  CHECK(server_lines(server, 100).size() == 3);
  CHECK(pool_lines(server, 100)[1].ends_with(
      "starts again in 4.0s: a child exited; process.max holds 3 back; 2 of earlier generations"));
}

TEST_CASE("what waits for a place is shown, and nothing where nothing runs on request") {
  ServerStatus server;
  CHECK(job_lines(server).empty());
  server.jobs.push_back({.service = "backoffice \x1b[31m", .waiting = 12});
  const Lines lines = job_lines(server);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("WAITING") != std::string::npos);
  CHECK(lines[1].find(" 12 ") != std::string::npos);
  CHECK(lines[1].find('\x1b') == std::string::npos);
}
