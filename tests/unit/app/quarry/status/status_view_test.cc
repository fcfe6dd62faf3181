#include "status/status_view.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace quarry::app;

namespace {

using Figures = std::map<std::string, std::uint64_t>;

StatusDocument pool(const std::string& name, std::uint64_t active, const Figures& totals) {
  StatusDocument one = {{"pool", name}, {"active processes", active}, {"max children", 9U}};
  for (const auto& [figure, value] : totals) one[figure] = value;
  return one;
}

StatusDocument server_of(std::vector<StatusDocument> pools) {
  StatusDocument server;
  server["pools"] = std::move(pools);
  return server;
}

StatusSample sample(double at, std::vector<StatusDocument> pools) {
  return {server_of(std::move(pools)), at};
}

StatusDocument child(std::uint64_t pid, const char* state, std::uint64_t duration) {
  return {{"pid", pid}, {"state", state}, {"request duration", duration}};
}

/// Returns the names in the first column of the pool table, from top to bottom.
std::string order_of(const Lines& lines) {
  std::string names;
  for (std::size_t i = 1; i < lines.size() && !lines[i].empty(); ++i) {
    names += lines[i].substr(0, lines[i].find(' ')) + " ";
  }
  return names;
}

}  // namespace

TEST_CASE("the busiest pool comes first, by the selected order") {
  const StatusSample before = sample(10, {pool("idle", 0, {}), pool("few", 5, {{"requests", 50}}),
                                          pool("many", 1, {{"requests", 7}})});
  const StatusSample after =
      sample(11, {pool("idle", 0, {}), pool("few", 5, {{"requests", 52}, {"bytes in", 4096}}),
                  pool("many", 1, {{"requests", 47}, {"bytes out", 10}})});
  CHECK(order_of(activity_lines(before, after, Order::kRequests, 0)) == "many few idle ");
  CHECK(order_of(activity_lines(before, after, Order::kBytes, 0)) == "few many idle ");
  CHECK(order_of(activity_lines(before, after, Order::kActive, 0)) == "few many idle ");
  CHECK(order_of(activity_lines(before, after, Order::kName, 0)) == "few idle many ");
  const Lines lines = activity_lines(before, after, Order::kRequests, 0);
  CHECK(lines[1].find(" 40.0 ") != std::string::npos);
  CHECK(lines[2].find(" 4.0K ") != std::string::npos);
}

TEST_CASE("without a previous sample, and for a new pool, rates are 0") {
  const StatusSample after = sample(11, {pool("www", 0, {{"requests", 1000}})});
  CHECK(activity_lines(std::nullopt, after, Order::kRequests, 0)[1].find("1000") ==
        std::string::npos);
  CHECK(activity_lines(sample(10, {}), after, Order::kRequests, 0)[1].find("1000") ==
        std::string::npos);
}

TEST_CASE("only busy workers are shown, the longest request first") {
  StatusDocument one = pool("www", 2, {});
  one["processes"] =
      std::vector{child(1, "Running", 5000), child(2, "Idle", 9000000), child(3, "Running", 7000)};
  const Lines lines = activity_lines(std::nullopt, sample(1, {one}), Order::kRequests, 0);
  REQUIRE(lines.size() == 6);
  CHECK(lines[4].find("7.0ms") != std::string::npos);
  CHECK(lines[5].find("5.0ms") != std::string::npos);
}

TEST_CASE("a crash loop, previous generations and crashes are shown if there are any") {
  StatusDocument server = server_of({pool("www", 0, {})});
  CHECK(server_lines(server, 100).size() == 1);
  CHECK(pool_lines(server, 100)[1].ends_with(" 0"));
  server["previous generation"] = std::vector<StatusDocument>(2);
  server["crashes"] = 3U;
  server["pools"][0].update({{"next start", 104U},
                             {"backoff reason", "a child exited"},
                             {"children of earlier generations", 2U},
                             {"children held back", 3U}});
  CHECK(server_lines(server, 100).size() == 3);
  CHECK(pool_lines(server, 100)[1].ends_with(
      "restart in 4.0s: a child exited; 3 held back by process.max; 2 of earlier generations"));
}

TEST_CASE("a service that runs on request is shown with the jobs that wait for a slot") {
  StatusDocument server = server_of({});
  CHECK(job_lines(server).empty());
  server["services"] = std::vector<StatusDocument>{
      {{"service", "gateway"}},
      {{"service", "backoffice \x1b[31m"}, {"jobs", {{"waiting", 12U}}}},
      {{"service", "odd"}, {"jobs", 3}}};
  const Lines lines = job_lines(server);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("WAITING") != std::string::npos);
  CHECK(lines[1].find(" 12 ") != std::string::npos);
  CHECK(lines[1].find('\x1b') == std::string::npos);
}
