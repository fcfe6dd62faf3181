#include "status/server_status.h"

#include <doctest/doctest.h>

using namespace quarry::app;
using quarry::base::ErrorCode;

namespace {

PoolStatus pool_with(std::int64_t started, const Totals& totals) {
  PoolStatus pool;
  pool.started = started;
  pool.totals = totals;
  return pool;
}

}  // namespace

TEST_CASE("figures are read by the names of the status page") {
  const auto server = read_status(
      R"({"version":"1.2","pid":7,"state":"running","generation":3,"elders":[{},{}],)"
      R"("pools":[{"pool":"www","process manager":"static","start time":700,"children":2,"generation":3,"idle processes":2,)"
      R"("active processes":1,"listen queue":5,"max children":4,"slow requests":6,"requests":10,)"
      R"("clones":1,"bytes out":99,"next start":1000,"backoff reason":"why","processes":[)"
      R"({"pid":8,"generation":2,"state":"Idle","request duration":12,"request uri":"/x","last request cpu":12.5}]}]})");
  REQUIRE(server);
  CHECK(server->pid == 7);
  CHECK(server->elders == 2);
  REQUIRE(server->pools.size() == 1);
  const PoolStatus& pool = server->pools[0];
  CHECK(pool.name == "www");
  CHECK(pool.started == 700);
  CHECK(pool.of_generation == 2);
  CHECK(pool.idle == 2);
  CHECK(pool.active == 1);
  CHECK(pool.queue == 5);
  CHECK(pool.slow == 6);
  CHECK(pool.totals.requests == 10);
  CHECK(pool.totals.clones == 1);
  CHECK(pool.totals.bytes_out == 99);
  CHECK(pool.next_start == 1000);
  REQUIRE(pool.children.size() == 1);
  CHECK(pool.children[0].generation == 2);
  CHECK(pool.children[0].is_idle());
  CHECK(pool.children[0].duration == 12);
  CHECK(pool.children[0].cpu == 12.5);
}

TEST_CASE("what is missing or of another kind is nothing, and what is no status is an error") {
  const auto odd = read_status(
      R"({"pid":"x","elders":7,"generation":-3,"crashes":1e99,"start time":99999999999999999,"pools":[1,{"pool":[],"requests":"many","processes":[null]}]})");
  REQUIRE(odd);
  CHECK(odd->pid == 0);
  CHECK(odd->generation == 0);
  CHECK(odd->crashes == 0);
  CHECK(odd->started == 1'000'000'000'000);
  REQUIRE(odd->pools.size() == 1);
  CHECK(odd->pools[0].name.empty());
  CHECK(odd->pools[0].children.empty());
  for (const char* document : {"", "{", "[]", "7", "{}", "{\"pools\":"}) {
    const auto none = read_status(document);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::kInvalid);
  }
  const auto refused = read_status("{\"error\":\"not\\u001b[2J you\"}");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "quarryd says: not\\x1b[2J you");
}

TEST_CASE("rates are what came between two looks, by their time") {
  const PoolStatus before = pool_with(1, {.requests = 100, .clones = 1, .bytes_out = 1000});
  const PoolStatus after = pool_with(1, {.requests = 130, .clones = 2, .bytes_out = 5000});
  const Rates rates = rates_between(before, after, 2);
  CHECK(rates.requests == 15);
  CHECK(rates.clones == 0.5);
  CHECK(rates.pulls == 0);
  CHECK(rates.bytes_out == 2000);
}

TEST_CASE(
    "a pool that was started anew counts anew, figures that shrank are none, and so is no time") {
  const PoolStatus before = pool_with(1, {.requests = 100});
  CHECK(rates_between(before, pool_with(2, {.requests = 6}), 2).requests == 3);
  CHECK(rates_between(before, pool_with(2, {.requests = 600}), 2).requests == 300);
  CHECK(rates_between(before, pool_with(1, {.requests = 6}), 2).requests == 0);
  CHECK(rates_between(before, pool_with(1, {.requests = 200}), 0).requests == 0);
  CHECK(rates_between(before, pool_with(1, {.requests = 200}), -1).requests == 0);
}

TEST_CASE("of services those that run on request are told") {
  const auto server = read_status(
      R"({"pools":[],"services":[{"service":"gateway","children":[1]},{"service":"backoffice www",)"
      R"("jobs":{"running":1,"waiting":2,"paused":3,"started":4,"failed":5,"delayed":6,"held back":7}},)"
      R"({"service":"odd","jobs":3},4]})");
  REQUIRE(server);
  REQUIRE(server->jobs.size() == 1);
  const JobStatus& jobs = server->jobs[0];
  CHECK(jobs.pool() == "www");
  CHECK(jobs.running == 1);
  CHECK(jobs.waiting == 2);
  CHECK(jobs.paused == 3);
  CHECK(jobs.started == 4);
  CHECK(jobs.failed == 5);
  CHECK(jobs.delayed == 6);
  CHECK(jobs.held_back == 7);
}
