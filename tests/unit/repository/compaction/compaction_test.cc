#include "quarry/repository/compaction.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "quarry/artifact/delta.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

constexpr const char* kLongest =
    "WITH RECURSIVE c(rid,n) AS (SELECT rid,0 FROM blob WHERE rid NOT IN (SELECT rid FROM delta)"
    " UNION ALL SELECT delta.rid,n+1 FROM c JOIN delta ON srcid=c.rid) SELECT max(n) FROM c";

/// A project with one file that changes in each check-in.
class Project {
 public:
  explicit Project(World& world) : world_(world), tip_(world.root()) {}

  /// Returns the content of version NUMBER of the file.
  static std::string text(int number) {
    std::string made;
    for (int line = 0; line < 60; ++line) {
      made += fmt::format("line {} as it was written {}\n", line, (number + line) / 20);
    }
    return made + fmt::format("version {}\n", number);
  }
  /// Commits the next version of the file. If AS_DELTA is true, stores it as a delta on the
  /// previous version, as in a push by fossil.
  void commit(bool as_delta = false) {
    const std::string content = text(number_);
    const std::string before = text(number_ - 1);
    const std::string change = artifact::delta_create(before, content);
    Arrival file = as_delta ? delta(name_of(content), name_of(before), change) : whole(content);
    file.is_private = is_private;
    const std::string manifest = check_in_on({tip_}, number_, {}, content);
    Arrival check_in = whole(manifest);
    check_in.is_private = is_private;
    world_.receive([&](Receipt& receipt) {
      REQUIRE(receipt.store(file));
      REQUIRE(receipt.store(check_in));
    });
    tip_ = name_of(manifest);
    ++number_;
  }
  void commit_many(int count, bool as_delta = false) {
    for (int i = 0; i < count; ++i) commit(as_delta && number_ > 0);
  }
  Rid rid_of(int number) const {
    return std::stoll(world_.sql(
        fmt::format("SELECT rid FROM blob WHERE uuid='{}'", name_of(text(number)).str())));
  }
  /// Returns the row number of version NUMBER's delta source, or an empty string if that version is
  /// stored whole.
  std::string source_of(int number) const {
    return world_.sql(fmt::format("SELECT srcid FROM delta WHERE rid={}", rid_of(number)));
  }

  bool is_private = false;

 private:
  World& world_;
  HashName tip_;
  int number_ = 0;
};

CompactedSlice compact(World& world, const CompactionOptions& options = {}) {
  auto slice = Compaction(*world.repository).run(options);
  REQUIRE(slice);
  return std::move(*slice);
}

std::string count_of_deltas(World& world) {
  return world.sql("SELECT count(*) FROM delta");
}

}  // namespace

TEST_CASE("all versions of a file but the newest become deltas on the next one") {
  World world;
  Project project(world);
  project.commit_many(6);
  const auto before = contents(world);
  REQUIRE(count_of_deltas(world) == "0");
  const CompactedSlice slice = compact(world);
  CHECK(slice.is_done);
  CHECK(slice.damaged == 0);
  CHECK(slice.size_after < slice.size_before / 2);
  for (int number = 0; number < 5; ++number) {
    CHECK(project.source_of(number) == std::to_string(project.rid_of(number + 1)));
  }
  CHECK(project.source_of(5) == "");
  CHECK(contents(world) == before);
  CHECK(faults(world.file()) == "");
  REQUIRE(world.fossil("test-integrity -R " + world.file().string()));
}

TEST_CASE("without new artifacts nothing is read or written") {
  World world;
  Project project(world);
  project.commit_many(4);
  compact(world);
  const std::string changes = world.sql("PRAGMA data_version");
  auto other = Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(other);
  std::uint64_t state = 0;
  {
    const auto snapshot = (*other)->snapshot();
    state = (*other)->state();
  }
  for (const bool is_whole : {false, true}) {
    const CompactedSlice again = compact(world, {.is_whole = is_whole});
    CHECK(again.is_done);
    CHECK(again.examined == 0);
  }
  const auto snapshot = (*other)->snapshot();
  CHECK((*other)->state() == state);
}

TEST_CASE("a new artifact replaces the previous version, and no other artifact is read") {
  World world;
  Project project(world);
  project.commit_many(40);
  compact(world);
  project.commit();
  const CompactedSlice slice = compact(world);
  CHECK(slice.examined < 10);
  CHECK(project.source_of(39) == std::to_string(project.rid_of(40)));
  CHECK(project.source_of(40) == "");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("versions that were pushed as deltas on older ones are reversed") {
  World world;
  Project project(world);
  project.commit_many(8, true);
  REQUIRE(project.source_of(7) == std::to_string(project.rid_of(6)));
  CHECK_FALSE(Compaction(*world.repository).has_reversed_deltas());
  const auto before = contents(world);
  SUBCASE("all at once") {
    compact(world);
  }
  SUBCASE("and one that comes later") {
    compact(world);
    project.commit(true);
    REQUIRE(project.source_of(8) == std::to_string(project.rid_of(7)));
    compact(world);
    CHECK(project.source_of(8) == "");
  }
  CHECK(Compaction(*world.repository).has_reversed_deltas());
  for (int number = 0; number < 7; ++number) {
    CHECK(project.source_of(number) == std::to_string(project.rid_of(number + 1)));
  }
  for (const auto& [name, content] : before) CHECK(contents(world)[name] == content);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("chains stay below a limit, however the versions arrive" * doctest::test_suite("long")) {
  World world;
  Project project(world);
  SUBCASE("all before they are compacted") {
    project.commit_many(1100);
    compact(world);
  }
  SUBCASE("and many more afterwards") {
    project.commit_many(500);
    compact(world);
    for (int i = 0; i < 60; ++i) {
      project.commit_many(10);
      compact(world);
      REQUIRE(std::stoi(world.sql(kLongest)) <= 500);
    }
  }
  CHECK(std::stoi(world.sql(kLongest)) <= 500);
  CHECK(std::stoi(world.sql(kLongest)) > 100);
  // Checks only the versions of the file, because the manifests are too different for deltas.
  CHECK(std::stoi(world.sql("SELECT count(DISTINCT fid) FROM mlink"
                            " WHERE fid NOT IN (SELECT rid FROM delta)")) < 10);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("content that reappears is newer than the versions in between") {
  World world;
  Project project(world);
  project.commit_many(2);
  const HashName tip = *HashName::parse(
      world.sql("SELECT uuid FROM blob WHERE rid=(SELECT objid FROM event ORDER BY mtime DESC)"));
  world.put(check_in_on({tip}, 60, {}, Project::text(0)));
  compact(world);
  CHECK(project.source_of(0) == "");
  CHECK(project.source_of(1) == std::to_string(project.rid_of(0)));
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a public artifact is not a delta on a private one") {
  World world;
  Project project(world);
  project.commit_many(3);
  project.is_private = true;
  project.commit_many(3);
  compact(world);
  CHECK(project.source_of(2) == "");
  CHECK(project.source_of(1) == std::to_string(project.rid_of(2)));
  CHECK(project.source_of(3) == std::to_string(project.rid_of(4)));
  CHECK(world.sql("SELECT count(*) FROM delta WHERE srcid IN (SELECT rid FROM private)"
                  " AND rid NOT IN (SELECT rid FROM private)") == "0");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("shunned artifacts are unchanged, and never become a delta source") {
  World world;
  Project project(world);
  project.commit_many(4);
  world.sql(
      fmt::format("INSERT INTO shun(uuid,mtime) VALUES('{}',0)", name_of(Project::text(2)).str()));
  compact(world);
  CHECK(project.source_of(0) == std::to_string(project.rid_of(1)));
  CHECK(project.source_of(1) == "");
  CHECK(project.source_of(2) == "");
}

TEST_CASE("a waiting delta is unchanged, and processed when its source has arrived") {
  World world;
  Project project(world);
  project.commit_many(3);
  const std::string missing = Project::text(1000);
  const std::string made = Project::text(1001);
  world.put_delta(made, missing);
  const CompactedSlice slice = compact(world);
  CHECK(slice.damaged == 0);
  CHECK(project.source_of(1001) == std::to_string(project.rid_of(1000)));
  world.put(missing);
  // The last pass has already covered the row of `missing`, so the next pass starts over.
  CHECK(compact(world).examined >= 8);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("compaction continues where it stopped, artifact by artifact") {
  World world;
  Project project(world);
  project.commit_many(12, true);
  World at_once;
  Project same(at_once);
  same.commit_many(12, true);
  compact(at_once);
  int slices = 0;
  while (!compact(world,
                  {.is_over = [first = true]() mutable { return !std::exchange(first, false); }})
              .is_done) {
    REQUIRE(++slices < 200);
    CHECK(faults(world.file()) == "");
    if (slices % 5 == 0) {
      world.reopen();
    }
  }
  CHECK(slices > 20);
  for (int number = 0; number < 12; ++number) {
    CHECK(project.source_of(number) == same.source_of(number));
  }
}

TEST_CASE("changes between plan and transaction are detected") {
  World world;
  Project project(world);
  project.commit_many(6);
  const auto before = contents(world);
  // The callback runs after each artifact, when no write transaction is open.
  int asked = 0;
  const auto change_after = [&](const std::string& sql) {
    return CompactionOptions{.is_over = [&, sql] {
      if (++asked == 10) CHECK(world.sql(sql) == "");
      return false;
    }};
  };
  SUBCASE("a source becomes private") {
    compact(world, change_after(fmt::format("INSERT INTO private VALUES({})", project.rid_of(3))));
    CHECK(project.source_of(2) == "");
  }
  SUBCASE("a source is shunned") {
    compact(world, change_after(fmt::format("INSERT INTO shun(uuid) VALUES('{}')",
                                            name_of(Project::text(3)).str())));
    CHECK(project.source_of(2) == "");
  }
  SUBCASE("a row number is another artifact's") {
    compact(world, change_after(fmt::format("UPDATE blob SET uuid='{:040}' WHERE rid={}", 7,
                                            project.rid_of(3))));
    CHECK(world.sql("SELECT srcid FROM delta WHERE rid=" + std::to_string(project.rid_of(2))) ==
          "");
    return;
  }
  SUBCASE("another process compacts the file") {
    auto other = Repository::open(world.file(), {.clock = &world.clock});
    REQUIRE(other);
    compact(world, {.is_over = [&] {
              if (++asked == 10) CHECK(Compaction(**other).run({}));
              return false;
            }});
    CHECK(project.source_of(2) == std::to_string(project.rid_of(3)));
  }
  CHECK(asked > 10);
  CHECK(contents(world) == before);
}

TEST_CASE("damage is reported and left unchanged") {
  for (const char* damage :
       {"content=x'00000003789c4b4c4a0600024d0127', size=3", "content=x'0102'", "size=size+1"}) {
    CAPTURE(damage);
    World world;
    Project project(world);
    project.commit_many(5);
    world.sql(fmt::format("UPDATE blob SET {} WHERE rid={}", damage, project.rid_of(2)));
    const std::string stored =
        fmt::format("SELECT size||hex(content) FROM blob WHERE rid={}", project.rid_of(2));
    const std::string row = world.sql(stored);
    const CompactedSlice slice = compact(world);
    CHECK(slice.is_done);
    // An artifact of three bytes is too small for a delta, so its content is not read.
    const bool is_small = std::string_view(damage).ends_with("size=3");
    CHECK(slice.damaged == (is_small ? 0 : 1));
    CHECK(slice.damage.size() == slice.damaged);
    CHECK(world.sql(stored) == row);
    CHECK(project.source_of(1) == "");
    CHECK(project.source_of(0) == std::to_string(project.rid_of(1)));
  }
}

TEST_CASE("tables of earlier versions of this program are removed") {
  World world;
  for (const char* table : {"fx_quarry_overruled", "fx_quarry_tied"}) {
    world.sql(std::string("CREATE TABLE ") + table + "(tagname TEXT PRIMARY KEY) WITHOUT ROWID");
  }
  SUBCASE("by a compaction") {
    REQUIRE(Compaction(*world.repository).run());
  }
  SUBCASE("by a rebuild") {
    world.repository.reset();
    REQUIRE(rebuild(world.file(), {}, {}));
  }
  CHECK(world.sql("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'fx_quarry_[ot]*'") == "0");
}
