// Tests the search for the tip of a branch, and for check-ins by name.

#include "quarry/repository/check_ins.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "control_artifact.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

std::string control(const HashName& target, int minute, char kind, const std::string& tag) {
  return format_control({.date = {HeldClock().now().value + std::int64_t{60000} * minute},
                         .user = "ann",
                         .tags = {{kind, tag, target, ""}}});
}

/// Calls ASK in a snapshot and returns its result.
template <typename Ask>
auto in_snapshot(World& world, Ask&& ask) {
  const auto snapshot = world.repository->snapshot();
  if (!snapshot) throw std::runtime_error(snapshot.error().message);
  return ask(CheckIns(*world.repository));
}

}  // namespace

TEST_CASE("a tip has its displayed time, and whether its branch has forked") {
  World world;
  const HashName root = world.root();
  const auto tip = [&] {
    return in_snapshot(world, [](CheckIns check_ins) { return check_ins.tip("trunk"); });
  };
  CHECK(tip()->name == root);
  CHECK(tip()->time == world.clock.now());
  const HashName one = world.put(check_in_on({root}, 1));
  CHECK(tip()->name == one);
  CHECK(tip()->open_leaves == 1);
  const HashName other = world.put(check_in_on({root}, 2));
  CHECK(tip()->name == other);
  CHECK(tip()->open_leaves == 2);
  world.put(control(other, 3, '+', "closed"));
  CHECK(tip()->name == one);
  CHECK(tip()->open_leaves == 1);
  world.put(control(one, 4, '+', "closed"));
  REQUIRE_FALSE(tip());
  CHECK(tip().error().code == ErrorCode::kConflict);
  CHECK(tip().error().message == "the branch trunk is closed");
  const auto none = in_snapshot(world, [](CheckIns check_ins) { return check_ins.tip("no"); });
  CHECK(none.error().code == ErrorCode::kNotFound);
}

TEST_CASE("a check-in is found by its hash, a prefix, or a tag; other artifacts are not") {
  World world;
  const HashName root = world.root();
  const HashName one = world.put(check_in_on({root}, 1, {{'+', "sym-v1", ""}}));
  const HashName two = world.put(check_in_on({one}, 2));
  const HashName file = world.put("a file");
  const auto named = [&](std::string_view name) {
    return in_snapshot(world, [&](CheckIns check_ins) { return check_ins.named(name); });
  };
  CHECK(named(one.str()) == one);
  CHECK(named(one.str().substr(0, 10)) == one);
  std::string large(one.str().substr(0, 12));
  for (char& digit : large) digit = static_cast<char>(std::toupper(digit));
  CHECK(named(large) == one);
  CHECK(named("v1") == one);
  CHECK(named("trunk") == two);
  const std::string not_there(64, '0');
  for (const std::string_view wrong :
       {std::string_view("v2"), one.str().substr(0, 5), file.str(), std::string_view(not_there),
        std::string_view(""), std::string_view("v1' OR 1")}) {
    const auto found = named(wrong);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kNotFound);
  }
}

TEST_CASE("a branch and a tag name the check-ins that they named at an earlier receipt") {
  World world;
  const HashName root = world.root();
  const HashName one = world.put(check_in_on({root}, 1, {{'+', "sym-v1", ""}}));
  const HashName other = world.put(check_in_on({root}, 9));
  world.put(control(other, 10, '+', "closed"));
  const std::int64_t receipt = std::stoll(world.sql("SELECT max(rcvid) FROM rcvfrom"));
  const HashName two = world.put(check_in_on({one}, 2, {{'+', "sym-v1", ""}}));
  const HashName three = world.put(check_in_on({two}, 3));
  const HashName side =
      world.put(check_in_on({two}, 4, {{'*', "branch", "side"}, {'*', "sym-side", ""}}));
  const auto tip_at = [&](std::string_view branch, std::int64_t at) {
    return in_snapshot(world, [&](CheckIns check_ins) { return check_ins.tip_at(branch, at); });
  };
  const auto named = [&](std::string_view name, std::int64_t at) {
    return in_snapshot(world, [&](CheckIns check_ins) { return check_ins.named(name, at); });
  };
  CHECK(tip_at("trunk", receipt) == one);
  CHECK(tip_at("trunk", receipt + 1) == two);
  CHECK(tip_at("trunk", kLatestReceipt) == three);
  CHECK(named("trunk", receipt) == one);
  CHECK(named("v1", receipt) == one);
  CHECK(named("v1", kLatestReceipt) == two);
  CHECK(named(three.str().substr(0, 10), receipt) == three);
  // The branch `side` was created after RECEIPT, from a branch that already existed.
  CHECK(tip_at("side", receipt) == one);
  CHECK(tip_at("side", kLatestReceipt) == side);
  CHECK(tip_at("no", receipt).error().code == ErrorCode::kNotFound);
  CHECK(tip_at("trunk", -1).error().code == ErrorCode::kNotFound);
  world.put(control(side, 11, '+', "closed"));
  CHECK(tip_at("side", receipt).error().code == ErrorCode::kConflict);
  CHECK(named("side", kLatestReceipt) == side);
}

TEST_CASE("private artifacts and phantoms are not found as check-ins") {
  World world;
  const HashName root = world.root();
  const std::string secret =
      check_in_on({root}, 1, {{'*', "branch", "dark"}, {'+', "sym-dark", ""}});
  const std::string missing = check_in_on({root}, 2);
  world.receive([&](Receipt& receipt) {
    REQUIRE(receipt.store(private_one(secret)));
    REQUIRE(receipt.add_phantom(name_of(missing), false));
  });
  const HashName names[] = {name_of(secret), name_of(missing)};
  for (const std::string_view name : {names[0].str(), names[1].str(), std::string_view("dark")}) {
    const auto found =
        in_snapshot(world, [&](CheckIns check_ins) { return check_ins.named(name); });
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kNotFound);
  }
  CHECK_FALSE(in_snapshot(world, [](CheckIns check_ins) { return check_ins.tip("dark"); }));
}

TEST_CASE("a tag of a check-in's own card is found even if it was cancelled later") {
  World world;
  const HashName root = world.root();
  const HashName one = world.put(check_in_on({root}, 1, {{'+', "cs-1", ""}}));
  const HashName two = world.put(check_in_on({one}, 2));
  const auto with_tag = [&] {
    return *in_snapshot(world,
                        [](CheckIns check_ins) { return check_ins.with_tag("cs-1", "ann"); });
  };
  CHECK(with_tag() == std::vector{one});
  world.put(control(two, 3, '+', "cs-1"));  // tagged by a control artifact
  CHECK(with_tag() == std::vector{one});
  world.put(control(one, 4, '-', "cs-1"));
  CHECK(with_tag() == std::vector{one});
  CHECK(in_snapshot(world, [](CheckIns check_ins) {
          return check_ins.with_tag("cs", "ann");
        })->empty());
}

TEST_CASE("renamed files are followed to a descendant, along primary parents") {
  World world;
  const std::string content = "content of the file\n";
  const HashName file = world.put(content);
  std::vector<HashName> check_ins{world.root()};
  int minute = 0;
  const auto commit = [&](const std::map<std::string, std::string>& old_names) {
    artifact::CheckInText text{.comment = "c",
                               .date = {HeldClock().now().value + 60'000 * ++minute},
                               .user = "ann",
                               .parents = {check_ins.back()}};
    for (const auto& [name, old] : old_names) text.files.push_back({name, file, 0, old});
    check_ins.push_back(world.put(artifact::format_check_in(text)));
  };
  commit({{"a", ""}, {"b", ""}, {"c", ""}});
  commit({{"a", "b"}, {"b", "a"}, {"c", ""}});
  commit({{"a", ""}, {"c", ""}, {"d", "b"}});
  commit({{"a", ""}, {"b", "c"}, {"c", ""}, {"d", ""}});
  const auto renamed = [&](std::size_t from, std::size_t to, std::size_t limit = 10) {
    const auto found = in_snapshot(
        world, [&](CheckIns all) { return all.renames(check_ins[from], check_ins[to], limit); });
    REQUIRE(found);
    return *found;
  };
  using Names = std::map<std::string, std::string, std::less<>>;
  CHECK(renamed(1, 1) == Names{});
  CHECK(renamed(1, 4) == Names{{"a", "d"}, {"b", "a"}, {"c", "b"}});
  CHECK(renamed(2, 4) == Names{{"b", "d"}, {"c", "b"}});
  CHECK(renamed(1, 4, 2) == Names{});
  CHECK(renamed(4, 1) == Names{});
}

TEST_CASE("the ancestors of a check-in include merged check-ins, up to a limit") {
  World world;
  const HashName root = world.root();
  const HashName one = world.put(check_in_on({root}, 1)), other = world.put(check_in_on({root}, 2)),
                 merge = world.put(check_in_on({one, other}, 3)),
                 later = world.put(check_in_on({merge}, 4));
  const auto is_ancestor = [&](const HashName& from, const HashName& to, std::size_t limit = 10) {
    const auto found =
        in_snapshot(world, [&](CheckIns all) { return all.is_ancestor(from, to, limit); });
    REQUIRE(found);
    return *found;
  };
  for (const HashName& each : {root, one, other, merge, later}) CHECK(is_ancestor(each, later));
  CHECK_FALSE(is_ancestor(other, one));
  CHECK_FALSE(is_ancestor(later, merge));
  CHECK_FALSE(is_ancestor(name_of("missing"), later));
  CHECK_FALSE(is_ancestor(root, later, 3));
  // The limit on ancestors does not matter if the check-in has few descendants.
  CHECK(is_ancestor(merge, later, 3));
  CHECK_FALSE(is_ancestor(later, one, 2));
}
