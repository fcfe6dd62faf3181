#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "landing_world.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;

TEST_CASE("one check-in rolls back several, and names them as fossil does") {
  LandingWorld world;
  const FilesOf before{{"a", {"1"}}, {"b", {"1"}}, {"c", {"1", 'x'}}};
  world.landed(world.order(1, before));
  const HashName two = world.landed(world.order(2, {{"a", {"2"}}, {"new", {"n"}}}, {"b"}));
  const HashName three = world.landed(world.order(3, {{"a", {"3"}}, {"c", {"1"}}}));
  const HashName back = world.landed(world.rollback(4, {2, 3}));
  CHECK(world.files() == before);
  const std::string text = world.manifest(back);
  const auto parsed = artifact::parse_structural(text);
  REQUIRE(parsed);
  CHECK(parsed->parents.front() == three.str());
  REQUIRE(parsed->cherrypicks.size() == 2);
  for (const auto& pick : parsed->cherrypicks) CHECK(pick.is_backout);
  CHECK(text.find("\nQ -" + std::string(two.str()) + "\n") != std::string::npos);
  CHECK(text.find("\nQ -" + std::string(three.str()) + "\n") != std::string::npos);
  CHECK(parsed->comment == fmt::format("change set 4\n\nRolls back 2 change sets: "
                                       "\"change set 2\" (00000000 [{}]) and "
                                       "\"change set 3\" (00000000 [{}])",
                                       two.str().substr(0, 10), three.str().substr(0, 10)));
  CHECK(world.sql("SELECT count(*) FROM cherrypick WHERE isExclude") == "2");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("later changes elsewhere in the same files stay") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(40)}}}));
  world.landed(world.order(2, {{"a", {lines(40, 5, "two")}}}));
  std::string both = lines(40, 5, "two");
  both.replace(both.find("line 30\n"), 8, "three\n");
  world.landed(world.order(3, {{"a", {both}}, {"z", {"z"}}}));
  world.landed(world.rollback(4, {2}));
  CHECK(world.files() == FilesOf{{"a", {lines(40, 30, "three")}}, {"z", {"z"}}});
  world.landed(world.rollback(5, {3}));
  CHECK(world.files() == FilesOf{{"a", {lines(40)}}});
  CHECK(faults(world.file()) == "");
}

TEST_CASE("later changes to the same lines are reported, and nothing is rolled back") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(9)}}, {"b", {"1"}}}));
  world.landed(world.order(2, {{"a", {lines(9, 4, "two")}}, {"b", {"2"}}}));
  world.landed(world.order(3, {{"a", {lines(9, 4, "three")}}}));
  const Refusal refusal = world.refused(world.rollback(4, {2}));
  CHECK(refusal.kind == RefusalKind::kConflict);
  CHECK(refusal.log.find("three\n") != std::string::npos);
  CHECK(refusal.log.find("before change set 0000000000000002") != std::string::npos);
  CHECK(world.files().at("b").content == "2");
}

TEST_CASE("a rollback lands once, rolls back once, and only what has landed") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"1"}}}));
  world.landed(world.order(2, {{"a", {"2"}}}));
  CHECK(world.refused(world.rollback(9, {7})).kind == RefusalKind::kNotLanded);
  const LandingOrder order = world.rollback(3, {2});
  const HashName back = world.landed(order);
  const auto again = world.land(order);
  REQUIRE(again);
  CHECK(again->was_there);
  CHECK(again->check_in == back);
  CHECK(world.refused(world.rollback(4, {2})).kind == RefusalKind::kNothing);
  world.landed(world.rollback(5, {3}));
  CHECK(world.files().at("a").content == "2");
}

TEST_CASE("a file that became a folder becomes a file again") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"file"}}}));
  world.landed(world.order(2, {{"a/b", {"inside"}}}, {"a"}));
  world.landed(world.rollback(3, {2}));
  CHECK(world.files() == FilesOf{{"a", {"file"}}});
}

TEST_CASE("rolling back random change sets restores the files") {
  LandingWorld world;
  std::mt19937 random(11);
  world.landed(world.order(1, {{"f0", {lines(20)}}, {"f1", {lines(20)}}, {"f2", {lines(20)}}}));
  const FilesOf before = world.files();
  std::vector<int> made;
  for (int number = 2; number < 30; ++number) {
    FilesOf now = world.files();
    FilesOf added;
    std::vector<std::string> removed;
    for (int i = 0; i < 2; ++i) {
      const std::string name = fmt::format("f{}", random() % 6);
      if (added.contains(name)) continue;
      if (now.contains(name) && random() % 4 == 0) {
        if (std::ranges::find(removed, name) == removed.end()) removed.push_back(name);
      } else if (std::ranges::find(removed, name) == removed.end()) {
        added[name] = {lines(20, static_cast<int>(random() % 20), std::to_string(number)),
                       random() % 3 == 0 ? 'x' : '\0'};
      }
    }
    world.landed(world.order(number, added, removed));
    made.push_back(number);
  }
  world.landed(world.rollback(100, made));
  CHECK(world.files() == before);
  CHECK(faults(world.file()) == "");
}
