// Tests the claim that allows only one process at a time to send a repository's events.
#include "publisher_claim.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "fake_processes.h"
#include "world.h"

using namespace quarry;
using namespace quarry::backoffice;
using repository::test::World;

namespace {

class ClaimWorld : public World {
 public:
  ClaimWorld() { processes.alive = {{7, 1007}, {8, 1008}}; }

  bool take(std::int64_t pid) {
    const auto taken = take_claim(*repository, pid, processes);
    REQUIRE(taken);
    return *taken;
  }
  std::string row() { return sql("SELECT value FROM config WHERE name='quarry-publisher'"); }
  Result<std::size_t> publish(std::chrono::milliseconds budget) {
    JobContext context{*repository, std::chrono::steady_clock::now() + budget};
    return publish_alone(context, [this]() -> Result<std::size_t> {
      row_while_publishing = row();
      return std::size_t{3};
    });
  }

  FakeProcesses processes;
  std::string row_while_publishing;
};

}  // namespace

TEST_CASE("one living process holds the claim") {
  ClaimWorld world;
  CHECK(world.take(7));
  CHECK_FALSE(world.take(8));
  CHECK(world.take(7));
  const std::int64_t now = world.clock.now().value / 1000;
  CHECK(world.row() == fmt::format("7 {} boot/1 7 1007 0 0", now + 60));
}

TEST_CASE("the claim of a killed process can be taken immediately, even if its id is reused") {
  ClaimWorld world;
  CHECK(world.take(7));
  world.processes.alive = {{7, 2000}, {8, 1008}};
  CHECK(world.take(8));
  world.processes.alive = {{7, 2000}};
  CHECK(world.take(7));
}

TEST_CASE("the claim of a process on another host lasts a minute") {
  ClaimWorld world;
  CHECK(world.take(7));
  world.processes.name = "boot/2";
  CHECK_FALSE(world.take(8));
  world.clock.advance(61'000);
  CHECK(world.take(8));
}

TEST_CASE("the claim is held while events are published, and then released") {
  ClaimWorld world;
  CHECK(world.publish(std::chrono::seconds(60)) == std::size_t{3});
  CHECK(world.row_while_publishing.starts_with(fmt::format("{} ", ::getpid())));
  CHECK(world.row().empty());
}

TEST_CASE("nothing is published while another process keeps the claim") {
  ClaimWorld world;
  // The claiming process is the parent of this process, so it is alive.
  REQUIRE(take_claim(*world.repository, ::getppid()) == true);
  const auto published = world.publish(std::chrono::milliseconds(0));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::kBusy);
  CHECK(world.row_while_publishing.empty());
}
