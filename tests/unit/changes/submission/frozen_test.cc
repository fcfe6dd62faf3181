#include "quarry/changes/frozen.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "world.h"

using namespace quarry::changes;
using changes_test::Queue;
using quarry::base::ErrorCode;

TEST_CASE("branches are frozen and thawed, once each") {
  Queue queue;
  CHECK(frozen_branches(queue.directories)->empty());
  REQUIRE(set_frozen(queue.directories, "trunk", true));
  REQUIRE(set_frozen(queue.directories, "a b/c", true));
  CHECK(*frozen_branches(queue.directories) == Branches{"a b/c", "trunk"});
  CHECK(set_frozen(queue.directories, "trunk", true).error().code == ErrorCode::kConflict);
  REQUIRE(set_frozen(queue.directories, "trunk", false));
  CHECK(set_frozen(queue.directories, "trunk", false).error().code == ErrorCode::kConflict);
  CHECK(*frozen_branches(queue.directories) == Branches{"a b/c"});
}

TEST_CASE("an invalid name of a branch freezes nothing") {
  Queue queue;
  for (const std::string& name :
       {std::string(), std::string("a\nb"), std::string("\xff"), std::string(5000, 'x')}) {
    CHECK(set_frozen(queue.directories, name, true).error().code == ErrorCode::kInvalid);
  }
  CHECK(frozen_branches(queue.directories)->empty());
}

TEST_CASE("branches that are frozen concurrently all stay frozen") {
  Queue queue;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&queue, i] {
      Directories directories(quarry::base::FileSystem::real(), queue.directories.base());
      for (int tries = 0; tries < 100; ++tries) {
        const auto done = set_frozen(directories, "b" + std::to_string(i), true);
        if (done || done.error().code != ErrorCode::kBusy) break;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(frozen_branches(queue.directories)->size() == 8);
}
