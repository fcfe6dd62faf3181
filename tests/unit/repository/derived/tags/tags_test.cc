// Tests tags whose effect in `fossil rebuild` depends on the order of processing. Our result must
// be the same for every order.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "derived/odd_artifacts.h"
#include "store/database.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

std::string tagged_check_in(const std::string& comment, const std::string& parent, int day,
                            const std::string& tags = "") {
  return finish(fmt::format("C {}\nD 2021-01-{:02d}T00:00:00\n{}{}U ann\n", comment, day,
                            parent.empty() ? "" : "P " + hash(parent) + "\n", tags));
}

/// Returns a control artifact of the given DAY in February with CARDS as its T cards, in this
/// order. In each card, % stands for the hash of TARGET.
std::string tag_control(int day, const std::string& target, std::vector<std::string> cards) {
  std::string text = fmt::format("D 2021-02-{:02d}T00:00:00\n", day);
  for (std::string& card : cards)
    text += "T " + card.replace(card.find('%'), 1, hash(target)) + "\n";
  return finish(text + "U bob\n");
}

std::string tag_of(const World& world, const std::string& target, const std::string& tag) {
  return world.sql(
      "SELECT tagtype||' '||quote(value) FROM tagxref JOIN tag USING(tagid) JOIN blob USING(rid)"
      " WHERE tagname='" +
      tag + "' AND uuid='" + hash(target) + "'");
}

std::string event_of(const World& world, const std::string& check_in, const std::string& column) {
  return world.sql("SELECT quote(" + column + ") FROM event JOIN blob ON rid=objid WHERE uuid='" +
                   hash(check_in) + "'");
}

}  // namespace

TEST_CASE("an amendment takes precedence over an ancestor's tag, in any order of arrival") {
  const std::string one = tagged_check_in("one", "", 1, "T *branch * trunk\nT *sym-trunk *\n");
  const std::string two = tagged_check_in("two", one, 2);
  const std::string three = tagged_check_in("three", two, 3);
  std::vector<std::string> artifacts = {one, two, three, tag_control(2, one, {"*branch % first"}),
                                        tag_control(1, two, {"*branch % second"})};
  in_any_order(artifacts, [&](World& world) {
    CHECK(tag_of(world, one, "branch") == "2 'first'");
    CHECK(tag_of(world, two, "branch") == "2 'second'");
    CHECK(tag_of(world, three, "branch") == "2 'second'");
    CHECK(faults(world.file()) == "");
  });
}

TEST_CASE(
    "of two cards with the same time the artifact's own counts, or the one with the smaller hash") {
  const std::string made = tagged_check_in("made", "", 1),
                    owner = tagged_check_in("own", "", 1, "T +odd * own\n");
  const auto at_once = [](const std::string& target, const std::string& value) {
    return finish(fmt::format("D 2021-01-01T00:00:00\nT +odd {} {}\nU bob\n", hash(target), value));
  };
  const std::string first = at_once(made, "first"), second = at_once(made, "second");
  std::vector<std::string> artifacts = {made, owner, first, second, at_once(owner, "other")};
  const std::string expected = hash(first) < hash(second) ? "1 'first'" : "1 'second'";
  in_any_order(artifacts, [&](World& world) {
    CHECK(tag_of(world, made, "odd") == expected);
    CHECK(tag_of(world, owner, "odd") == "1 'own'");
  });
}

TEST_CASE("a time depends on the earliest of the close children") {
  const auto at = [&](const std::string& second, const std::string& comment,
                      const std::string& parent) {
    return finish("C " + comment + "\nD 2021-01-01T00:00:" + second + "\n" +
                  (parent.empty() ? "" : "P " + hash(parent) + "\n") + "U ann\n");
  };
  const std::string one = at("10.000", "one", ""), later = at("11.000", "later", one);
  std::vector<std::string> artifacts = {one, later, at("10.000", "same", one)};
  in_any_order(artifacts, [&](World& world) {
    CHECK(event_of(world, one, "mtime<omtime") == "1");
    check_derived(world);
  });
}

TEST_CASE("a row that depends on the order is counted, and any other difference is a fault") {
  World world;
  const std::string one = finish("C one\nD 2021-01-01T00:00:10\nU ann\n");
  world.put(one);
  for (const char* second : {"10", "11"}) {
    world.put(
        finish(fmt::format("C child\nD 2021-01-01T00:00:{}\nP {}\nU ann\n", second, hash(one))));
  }
  world.sql("UPDATE event SET mtime=omtime");
  const auto verified = verify(world.file());
  REQUIRE(verified.has_value());
  CHECK(verified->faults.empty());
  REQUIRE(verified->order_dependent.size() == 1);
  CHECK(verified->order_dependent.begin()->first ==
        std::pair<std::string, std::string>("event", "close children"));
  CHECK(verified->order_dependent.begin()->second == 1);
  SUBCASE("in the same row") {
    world.sql("UPDATE event SET comment='forged' WHERE comment='one'");
  }
  SUBCASE("in another row") {
    world.sql("UPDATE event SET mtime=mtime-1 WHERE comment='child'");
  }
  CHECK(faults_in_any_order(world.file()) != "");
}

TEST_CASE("a check-in inherits the tags of a parent that was set by a tag") {
  const std::string left = tagged_check_in("left", "", 1, "T *branch * left\nT *sym-left *\n");
  const std::string right = tagged_check_in("right", "", 2, "T *branch * right\n");
  const std::string child = tagged_check_in("child", left, 3);
  std::vector<std::string> artifacts = {left, right, child,
                                        tag_control(1, child, {"+parent % " + hash(right)}),
                                        tag_control(2, left, {"*odd % value"})};
  in_any_order(artifacts, [&](World& world) {
    CHECK(tag_of(world, child, "branch") == "2 'right'");
    CHECK(tag_of(world, child, "sym-left") == "");
    CHECK(tag_of(world, child, "odd") == "");
    CHECK(faults(world.file()) == "");
  });
}

TEST_CASE("an inherited comment, user or date does not show on the timeline") {
  const std::string one = tagged_check_in("one", "", 1), two = tagged_check_in("two", one, 2);
  const std::string tags =
      tag_control(1, one, {"*comment % new\\s[deadbeef12]", "*date % 2020-01-01", "*user % zed"});
  in_orders({{one, two, tags}, {one, tags, two}, {tags, two, one}}, [&](World& world) {
    CHECK(event_of(world, one, "ecomment||euser") == "'new [deadbeef12]zed'");
    CHECK(event_of(world, two, "ecomment") == "NULL");
    CHECK(event_of(world, two, "euser") == "NULL");
    CHECK(event_of(world, two, "mtime=omtime") == "1");
    CHECK(world.sql("SELECT count(*) FROM backlink") == "1");
    check_derived(world);
  });
}

TEST_CASE("a cancelling tag leaves nothing, with or without a value") {
  const std::string made = tagged_check_in("made", "", 1);
  const std::string bare = tag_control(1, made, {"-comment %", "-date %", "-user %"});
  const std::string valued = tag_control(
      1, made,
      {"-bgcolor % #aabbcc", "-comment % [deadbeef99]", "-date % 2020-01-01", "-user % zed"});
  in_orders({{bare, made}, {made, bare}, {valued, made}, {made, valued}}, [&](World& world) {
    CHECK(event_of(world, made, "ecomment") == "NULL");
    CHECK(event_of(world, made, "mtime") == "NULL");
    check_derived(world);
  });
}

TEST_CASE("a tag that would move a change to another ticket is refused") {
  World world;
  const auto change = [](char digit) {
    return finish(
        fmt::format("D 2021-01-01T00:00:00\nJ title t\nK {}\nU ann\n", std::string(40, digit)));
  };
  const std::string one = change('1'), two = change('2'), made = tagged_check_in("made", "", 1);
  world.put_all({one, two, made});
  const std::string tag = "tkt-" + std::string(40, '2');
  world.receive([&](Receipt& receipt) {
    for (const char* kind : {"*", "+", "-"}) {
      CHECK(!receipt.store(whole(tag_control(1, one, {kind + tag + " %"}))));
    }
    CHECK(!receipt.store(whole(tag_control(1, change('3'), {"+" + tag + " %"}))));
    CHECK(receipt.store(whole(tag_control(1, two, {"+" + tag + " %"}))));
    CHECK(receipt.store(whole(tag_control(1, made, {"+" + tag + " %"}))));
  });
  check_derived(world);
}

TEST_CASE("a rebuild keeps artifacts that a tag makes private unclustered, as fossil's does") {
  World world;
  const std::string made = tagged_check_in("made", "", 1);
  // The `private` table is emptied, as if a server without support for this tag had received
  // the tag.
  for (const std::string& each : {made, tag_control(1, made, {"*private %"})}) world.put(each);
  world.sql("DELETE FROM private");
  world.repository.reset();
  const auto copy = world.folder / "copy.fossil";
  world.sql("VACUUM INTO '" + copy.string() + "'");
  REQUIRE(rebuild(world.file(), {}, {}));
  REQUIRE(world.fossil("rebuild " + copy.string()));
  for (const char* table : {"private", "unclustered"}) {
    CAPTURE(table);
    const std::string rows =
        fmt::format("SELECT group_concat(rid) FROM (SELECT rid FROM {} ORDER BY 1)", table);
    const std::string ours = world.sql(rows);
    CHECK(ours != "");
    Database fossils(copy, Database::Mode::kReadOnly, std::chrono::seconds(5));
    Query query = fossils.query(rows);
    CHECK((query.step() && query.text(0) == ours));
  }
  CHECK(faults(world.file()) == "");
  CHECK(faults(copy) == "");
}
