#include <doctest/doctest.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <semaphore>
#include <system_error>
#include <thread>

#include "history.h"
#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "store/database.h"
#include "world.h"

using namespace quarry;
using quarry::artifact::HashName;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

/// Stores a history in which every artifact except the first is a delta on an earlier one.
void fill(World& world) {
  const std::vector<std::string> artifacts = History(1, History::Kind::kPlain).make(80);
  world.receive([&](Receipt& receipt) {
    for (const std::string& each : artifacts) REQUIRE(receipt.store(whole(each)));
  });
  Database database(world.file(), Database::Mode::kReadWrite, std::chrono::seconds(5));
  Transaction transaction(database);
  std::mt19937 random(1);
  for (std::size_t at = 1; at < artifacts.size(); ++at) {
    const std::string& source = artifacts[random() % at];
    const std::string name(name_of(artifacts[at]).str()), on(name_of(source).str());
    if (name == on) continue;
    database.execute(
        "INSERT OR IGNORE INTO delta SELECT a.rid, b.rid FROM blob AS a, blob AS b"
        " WHERE a.uuid=?1 AND b.uuid=?2",
        name, on);
    if (database.changes() == 0) continue;
    const std::string bytes =
        artifact::blob_compress(artifact::delta_create(source, artifacts[at]));
    database.execute("UPDATE blob SET content=?1 WHERE uuid=?2", Blob{bytes}, name);
  }
  transaction.commit();
}

std::size_t expansions(const World& world, const WalkBounds& bounds) {
  const auto rebuilt = rebuild(world.file(), {.clock = &world.clock, .walk = bounds});
  REQUIRE(rebuilt.has_value());
  CHECK(rebuilt->unreadable.empty());
  return rebuilt->expansions;
}

std::string faults(const World& world, const WalkBounds& bounds) {
  const auto verified = verify(world.file(), {}, bounds);
  if (!verified) return verified.error().message;
  return fmt::format("{}", fmt::join(verified->faults, "\n"));
}

/// Limits the memory of the process for the lifetime of the object. The limit allows for the stack
/// of one more thread, but not for two.
class RoomForOneThread {
 public:
  RoomForOneThread() {
    ::pthread_getattr_default_np(&before_);
    ::getrlimit(RLIMIT_AS, &limit_);
    pthread_attr_t large;
    ::pthread_attr_init(&large);
    ::pthread_attr_setstacksize(&large, kStack);
    ::pthread_setattr_default_np(&large);
    ::pthread_attr_destroy(&large);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = limit_;
    limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kStack / 2 * 3;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~RoomForOneThread() {
    ::setrlimit(RLIMIT_AS, &limit_);
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  RoomForOneThread(const RoomForOneThread&) = delete;
  RoomForOneThread& operator=(const RoomForOneThread&) = delete;

 private:
  static constexpr std::size_t kStack = std::size_t{512} << 20;
  pthread_attr_t before_;
  rlimit limit_{};
};

}  // namespace

TEST_CASE("a rebuild expands each artifact once, or again if it did not fit in memory") {
  World world;
  fill(world);
  const std::size_t artifacts = std::stoul(world.sql("SELECT count(*) FROM blob WHERE size>=0"));
  CHECK(expansions(world, {}) == artifacts);
  const std::vector<std::string> expected = derived_text(world.file());
  WalkBounds bounds;
  SUBCASE("in the calling thread") {
    bounds.helpers = 0;
    CHECK(expansions(world, bounds) == artifacts);
  }
  SUBCASE("with helpers") {
    bounds.helpers = 3;
    CHECK(expansions(world, bounds) == artifacts);
  }
  SUBCASE("contents that wait for others") {
    bounds.contents = 500;
    CHECK(expansions(world, bounds) > artifacts);
  }
  SUBCASE("lists of files") {
    bounds.lists = 4000;
    CHECK(expansions(world, bounds) > artifacts);
  }
  SUBCASE("both, with texts in a file") {
    bounds = {.contents = 500, .texts = 2000, .lists = 4000, .helpers = 2};
    CHECK(expansions(world, bounds) > artifacts);
  }
  CHECK(difference(derived_text(world.file()), expected) == "");
  CHECK(faults(world, bounds) == "");
}

TEST_CASE("an interrupted verification ends early") {
  World world;
  fill(world);
  std::size_t checked = 0;
  std::size_t all = 0;
  const auto verified = verify(
      world.file(),
      [&](std::size_t done, std::size_t total) {
        checked = done;
        all = total;
      },
      {.helpers = 0}, [&] { return checked >= 3; });
  REQUIRE(!verified);
  CHECK(verified.error().code == ErrorCode::kIo);
  CHECK(checked < all);
}

TEST_CASE("if a thread cannot be started the others do its work") {
  World world;
  fill(world);
  const RoomForOneThread room;
  {
    std::binary_semaphore may_end(0);
    const std::jthread first([&] { may_end.acquire(); });
    CHECK_THROWS_AS(std::thread([] {}).join(), std::system_error);
    may_end.release();
  }
  CHECK(rebuild(world.file(), {.clock = &world.clock, .walk = {.helpers = 3}}));
}

TEST_CASE("a stored artifact is verified, however large it is") {
  World world;
  {
    const std::string large(1000, 'x');
    const HashName name = HashName::of(artifact::HashAlgorithm::kSha1, large);
    const std::string bytes = artifact::blob_compress(large);
    Database database(world.file(), Database::Mode::kReadWrite, std::chrono::seconds(5));
    database.execute("INSERT INTO blob(rcvid,size,uuid,content) VALUES(1,?1,?2,?3)", large.size(),
                     name.str(), Blob{bytes});
  }
  OpenOptions options;
  options.max_artifact_size = 999;
  const auto rebuilt = rebuild(world.file(), options);
  REQUIRE(rebuilt);
  CHECK(rebuilt->unreadable.empty());
}
