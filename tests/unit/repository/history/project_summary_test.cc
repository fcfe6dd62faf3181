#include "quarry/repository/project_summary.h"

#include <doctest/doctest.h>

#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

ProjectSummary summary(World& world) {
  const auto snapshot = world.repository->snapshot();
  REQUIRE(snapshot);
  auto open = summary_of(*world.repository);
  REQUIRE(open);
  const auto closed = read_summary(world.file(), {});
  REQUIRE(closed);
  CHECK(closed->name == open->name);
  CHECK(closed->rights == open->rights);
  CHECK(closed->last_check_in == open->last_check_in);
  return *open;
}

}  // namespace

TEST_CASE("a summary has the project's name, description and newest public check-in") {
  World world;
  world.sql("INSERT INTO config(name, value, mtime) VALUES('project-description', 'all of it', 0)");
  world.put(check_in_on({world.root()}, 5));
  ProjectSummary found = summary(world);
  CHECK(found.name == "test");
  CHECK(found.description == "all of it");
  REQUIRE(found.last_check_in);
  CHECK(found.last_check_in->value == world.clock.now().value + 300'000);
  CHECK(found.is_listed);
  world.put_private(check_in_on({world.root()}, 9));
  CHECK(summary(world).last_check_in == found.last_check_in);
}

TEST_CASE("the rights of visitors are those of nobody, with inherited ones") {
  struct Case {
    const char* nobody;
    bool reads;
    bool clones;
  };
  World world;
  world.sql("REPLACE INTO user(login, cap) VALUES('anonymous', 'os')");
  world.sql("REPLACE INTO user(login, cap) VALUES('reader', 'gv')");
  world.sql("REPLACE INTO user(login, cap) VALUES('developer', 'iu')");
  for (const Case& each :
       {Case{"", false, false}, Case{"gjz", false, true}, Case{"o", true, false},
        Case{"i", true, false}, Case{"a", true, true}, Case{"s", true, true}, Case{"u", true, true},
        Case{"v", true, true}, Case{"hjkz", false, false}}) {
    CAPTURE(each.nobody);
    world.sql("UPDATE user SET cap='" + std::string(each.nobody) + "' WHERE login='nobody'");
    const ProjectSummary found = summary(world);
    CHECK(found.may_be_read() == each.reads);
    CHECK(found.may_be_cloned() == each.clones);
  }
  world.sql("DELETE FROM user WHERE login='nobody'");
  CHECK_FALSE(summary(world).may_be_read());
}

TEST_CASE("a repository that only provides a skin is not listed") {
  World world;
  world.sql("INSERT INTO config(name, value, mtime) VALUES('repolist-skin', 2, 0)");
  CHECK_FALSE(summary(world).is_listed);
  world.sql("UPDATE config SET value=1 WHERE name='repolist-skin'");
  CHECK(summary(world).is_listed);
}

TEST_CASE("reading a summary does not change the file") {
  World world;
  world.repository.reset();
  CHECK(world.sql("PRAGMA journal_mode=DELETE") == "delete");
  REQUIRE(read_summary(world.file(), {}));
  CHECK(world.sql("PRAGMA journal_mode") == "delete");
  CHECK(world.sql("PRAGMA journal_mode=WAL") == "wal");
  REQUIRE(read_summary(world.file(), {}));
  CHECK_FALSE(std::filesystem::exists(world.file().string() + "-wal"));
}

TEST_CASE("a file that is not a repository has no summary") {
  World world;
  CHECK(read_summary(world.folder / "none", {}).error().code == ErrorCode::kNotFound);
  world.sql("DROP TABLE event");
  CHECK_FALSE(read_summary(world.file(), {}));
}
