// Tests the lease in a repository file.
#include "quarry/backoffice/turn.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "fake_processes.h"
#include "world.h"

using namespace quarry;
using namespace quarry::backoffice;
using repository::test::World;
using std::chrono::seconds;

namespace {

class TurnWorld : public World {
 public:
  Turn come(std::int64_t pid, const TurnOptions& options = {}) {
    processes.alive.try_emplace(pid, 1000 + pid);
    const auto decision = take_turn(*repository, pid, options, processes);
    REQUIRE(decision);
    last = *decision;
    return decision->turn;
  }
  RunForecast forecast(const TurnOptions& options = {}) {
    const auto forecast = forecast_run(*repository, options, processes);
    REQUIRE(forecast);
    return *forecast;
  }
  std::string row(const std::string& name = "backoffice") {
    return sql(fmt::format("SELECT value FROM config WHERE name='{}'", name));
  }
  void set(const std::string& name, const std::string& value) {
    sql(fmt::format("REPLACE INTO config(name,value,mtime) VALUES('{}','{}',1)", name, value));
  }
  std::int64_t now() const { return clock.now().value / 1000; }
  /// Returns a text that changes with every write to the `config` table.
  std::string writes() { return sql("SELECT group_concat(name||value||mtime) FROM config"); }

  FakeProcesses processes;
  Decision last;
};

}  // namespace

TEST_CASE("the first process takes the lease, the second waits for it, and a third one exits") {
  TurnWorld world;
  const std::string untouched = world.writes();
  CHECK(world.forecast().is_wanted);
  CHECK(world.writes() == untouched);
  CHECK(world.come(7) == Turn::kRun);
  CHECK(world.row() == fmt::format("7 {} 0 0", world.now() + 60));
  CHECK(world.row("quarry-lease") == "boot/1 7 1007 0 0");
  CHECK(world.forecast().is_wanted);
  CHECK(world.come(8) == Turn::kWait);
  CHECK(world.last.sleep == seconds(60));
  CHECK(world.row() == fmt::format("7 {} 8 {}", world.now() + 60, world.now() + 120));
  CHECK(world.row("quarry-lease") == "boot/1 7 1007 8 1008");
  const RunForecast forecast = world.forecast();
  CHECK_FALSE(forecast.is_wanted);
  CHECK(forecast.until == world.now() + 60);
  const std::string before = world.writes();
  CHECK(world.come(9) == Turn::kLeave);
  CHECK(world.writes() == before);
  world.processes.alive.erase(7);
  CHECK(world.come(9) == Turn::kLeave);
  world.clock.advance(60'000);
  CHECK(world.come(8) == Turn::kRun);
  CHECK(world.row() == fmt::format("8 {} 0 0", world.now() + 60));
}

TEST_CASE("with backoffice-nodelay a process runs immediately or exits") {
  for (const bool is_setting : {true, false}) {
    TurnWorld world;
    if (is_setting) world.set("backoffice-nodelay", "1");
    const TurnOptions options{.may_wait = is_setting};
    CHECK(world.come(7, options) == Turn::kRun);
    CHECK_FALSE(world.forecast(options).is_wanted);
    CHECK(world.forecast(options).until == 0);
    CHECK(world.come(8, options) == Turn::kLeave);
    world.clock.advance(60'000);
    world.processes.alive.erase(7);
    CHECK(world.forecast(options).is_wanted);
    CHECK(world.come(8, options) == Turn::kRun);
  }
}

TEST_CASE("a repository with a disabled backoffice is checked again soon") {
  TurnWorld world;
  world.set("backoffice-disable", "on");
  const RunForecast forecast = world.forecast();
  CHECK_FALSE(forecast.is_wanted);
  CHECK(forecast.until > world.now());
  CHECK(forecast.until <= world.now() + 10);
}

TEST_CASE("a forecast never lasts longer than a lease, whatever the row says") {
  TurnWorld world;
  world.processes.alive = {{7, 1}, {8, 1}};
  world.set("backoffice", fmt::format("7 {} 8 {}", world.now() + 3000, world.now() + 3060));
  const RunForecast forecast = world.forecast();
  CHECK_FALSE(forecast.is_wanted);
  CHECK(forecast.until <= world.now() + 60);
}

TEST_CASE("of many concurrent processes, one runs and one waits") {
  TurnWorld world;
  std::vector<std::thread> threads;
  std::array<std::atomic<int>, 3> turns{};
  for (int i = 0; i < 8; ++i) world.processes.alive[100 + i] = i;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      repository::OpenOptions options;
      options.clock = &world.clock;
      const auto repository = repository::Repository::open(world.file(), options);
      if (!repository) return;
      const auto decision = take_turn(**repository, 100 + i, {}, world.processes);
      if (decision) ++turns.at(static_cast<std::size_t>(decision->turn));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(turns[static_cast<std::size_t>(Turn::kRun)] == 1);
  CHECK(turns[static_cast<std::size_t>(Turn::kWait)] == 1);
  CHECK(turns[static_cast<std::size_t>(Turn::kLeave)] == 6);
}
