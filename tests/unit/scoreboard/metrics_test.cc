#include "quarry/scoreboard/metrics.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <memory>
#include <string>

#include "quarry/scoreboard/busiest.h"

using namespace quarry::scoreboard;

namespace {

bool shows(const std::string& page, std::string_view part) {
  return page.find(part) != std::string::npos;
}

std::string page_of(const PoolOverview& pool, Exposition::Form form) {
  Exposition out(form);
  write_pool_metrics({&pool, 1}, out);
  return out.take();
}

}  // namespace

TEST_CASE("repositories with many requests stay in the table while many others come and go") {
  const auto memory = std::make_unique<BusiestMemory>();
  for (int i = 0; i < 5000; ++i) {
    if (i % 10 == 0) count_request(*memory, "team/busy", 2'000);
    count_request(*memory, fmt::format("team/{}", i), 1);
  }
  const auto busiest = busiest_in(*memory);
  REQUIRE(busiest.size() == kMaxBusiest);
  CHECK(busiest[0].name.view() == "team/busy");
  CHECK(busiest[0].requests == 500);
  CHECK(busiest[0].duration == 1'000'000);
}

TEST_CASE("a garbled entry of the table is skipped") {
  const auto memory = std::make_unique<BusiestMemory>();
  count_request(*memory, "one", 1);
  count_request(*memory, "two", 1);
  memory->entries[0].name[0] = 0x4141414141414141;
  const auto busiest = busiest_in(*memory);
  REQUIRE(busiest.size() == 1);
  CHECK(busiest[0].name.view() == "two");
}

TEST_CASE("labels are escaped, times are in seconds, and only used entries are shown") {
  PoolOverview pool;
  pool.pool.assign("a\"\\\n\xff");
  pool.totals.duration = 123'456'789'012'345;
  pool.busiest[0].name.assign("team/one");
  pool.busiest[0].requests = 7;
  pool.busiest[0].duration = 1'500'000;
  const std::string page = page_of(pool, Exposition::Form::kText);
  CHECK(shows(page, "pool=\"a\\\"\\\\"));
  CHECK_FALSE(shows(page, "\xff"));
  CHECK(shows(page, "quarry_request_duration_seconds_sum{pool="));
  CHECK(shows(page, " 123456789.012345\n"));
  CHECK(shows(page, "repository=\"team/one\"} 7\n"));
  CHECK(shows(page, "repository=\"team/one\"} 1.500000\n"));
  CHECK_FALSE(shows(page, "repository=\"\""));
  CHECK_FALSE(shows(page, "quarry_backoffice_last_end_timestamp_seconds{"));
}

TEST_CASE("in OpenMetrics, the family of a counter does not have the suffix _total") {
  PoolOverview pool;
  pool.pool.assign("www");
  const std::string text = page_of(pool, Exposition::Form::kText);
  CHECK(
      shows(text, "# TYPE quarry_requests_total counter\nquarry_requests_total{pool=\"www\"} 0\n"));
  CHECK_FALSE(shows(text, "# EOF"));
  const std::string open = page_of(pool, Exposition::Form::kOpenMetrics);
  CHECK(shows(open, "# TYPE quarry_requests counter\nquarry_requests_total{pool=\"www\"} 0\n"));
  CHECK(open.ends_with("\n# EOF\n"));
}

TEST_CASE("the name of a service is split into the kind of its jobs and the pool") {
  JobOverview jobs;
  jobs.service.assign("peers www");
  jobs.figures.started = 3;
  Exposition out(Exposition::Form::kText);
  write_job_metrics({&jobs, 1}, out);
  CHECK(shows(out.take(), "quarry_jobs_started_total{pool=\"www\",job_kind=\"peers\"} 3\n"));
}
