// Tags where fossil's rebuild decides by the order in which it looks at artifacts.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "derived/odd_artifacts.h"
#include "quarry/artifact/digest.h"
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

/// A control artifact of that DAY with CARDS, in their order, in each of which % is the target.
std::string tag_control(int day, const std::string& target, std::vector<std::string> cards) {
  std::string text = fmt::format("D 2021-02-{:02d}T00:00:00\n", day);
  for (std::string& card : cards)
    text += "T " + card.replace(card.find('%'), 1, hash(target)) + "\n";
  return finish(text + "U bob\n");
}

/// That what came into WORLD is what fossil's rebuild makes of it.
void prove_tags(World& world) {
  CHECK(faults(world.file()) == "");
  const std::vector<std::string> ours = derived_text(world.file());
  REQUIRE(world.fossil("rebuild " + world.file().string()));
  CHECK(difference(ours, derived_text(world.file())) == "");
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

TEST_CASE("an older amendment is lost where it meets an ancestor's later one") {
  World world;
  const std::string one = tagged_check_in("one", "", 1, "T *branch * trunk\nT *sym-trunk *\n");
  const std::string two = tagged_check_in("two", one, 2);
  const std::string three = tagged_check_in("three", two, 3);
  const std::string on_one = tag_control(2, one, {"*branch % first"});
  const std::string on_two = tag_control(1, two, {"*branch % second"});
  const std::string take_back = tag_control(3, one, {"-branch %"});
  for (const std::string& artifact : {one, two, three}) world.put(artifact);
  SUBCASE("which is there") {
    world.put(on_one);
    world.put(on_two);
    CHECK(tag_of(world, three, "branch") == "2 'first'");
    SUBCASE("and taken back afterwards") {
      world.put(take_back);
      CHECK(tag_of(world, two, "branch") == "");
    }
    SUBCASE("and stays so for a check-in that comes then") {
      world.put(tagged_check_in("four", three, 4));
    }
  }
  SUBCASE("but not where it is there first") {
    world.put(on_two);
    world.put(on_one);
    CHECK(tag_of(world, three, "branch") == "2 'second'");
  }
  SUBCASE("nor where its row is the first") {
    world.receive([&](Receipt& receipt) {
      REQUIRE(receipt.add_phantom(name_of(on_two), false));
      REQUIRE(receipt.add_phantom(name_of(on_one), false));
    });
    world.put(on_one);
    world.put(on_two);
    CHECK(tag_of(world, three, "branch") == "2 'second'");
  }
  SUBCASE("that comes in between") {
    world.receive([&](Receipt& receipt) {
      for (const std::string& each : {on_one, on_two, take_back}) {
        REQUIRE(receipt.add_phantom(name_of(each), false));
      }
    });
    world.put(take_back);
    world.put(on_two);
    CHECK(tag_of(world, three, "branch") == "2 'second'");
    world.put(on_one);
    CHECK(tag_of(world, three, "branch") == "");
  }
  SUBCASE("all in one request") {
    world.receive([&](Receipt& receipt) {
      REQUIRE(receipt.store(whole(on_one)));
      REQUIRE(receipt.store(whole(on_two)));
    });
    CHECK(tag_of(world, two, "branch") == "2 'first'");
  }
  prove_tags(world);
}

TEST_CASE("a check-in that comes late makes tags meet that did not") {
  World world;
  const std::string one = tagged_check_in("one", "", 1, "T *branch * trunk\nT *sym-trunk *\n");
  const std::string two = tagged_check_in("two", one, 2);
  const std::string three = tagged_check_in("three", two, 3);
  world.receive([&](Receipt& receipt) {
    for (const std::string& each : {one, two, three}) {
      REQUIRE(receipt.add_phantom(name_of(each), false));
    }
  });
  world.put(one);
  world.put(three);
  world.put(tag_control(2, one, {"*bgcolor % #111111"}));
  world.put(tag_control(1, three, {"*bgcolor % #222222"}));
  CHECK(tag_of(world, three, "bgcolor") == "2 '#222222'");
  world.put(two);
  CHECK(tag_of(world, three, "bgcolor") == "2 '#111111'");
  CHECK(event_of(world, three, "bgcolor") == "'#111111'");
  prove_tags(world);
}

TEST_CASE("an amendment that was lost counts where a check-in is looked at later than before") {
  World world;
  // So much alike that a rebuild makes a delta of each parent, and looks at it last.
  const std::string text(400, 'x');
  const std::string one = tagged_check_in("one" + text, "", 1),
                    two = tagged_check_in("two" + text, one, 2);
  const std::string three = tagged_check_in("three" + text, two, 3),
                    four = tagged_check_in("four" + text, two, 4);
  const std::string on_one = tag_control(2, one, {"*bgcolor % #111111"});
  const std::string on_three = tag_control(1, three, {"*bgcolor % #222222"});
  world.receive([&](Receipt& receipt) {
    for (const std::string& each : {one, four, two, three, on_one, on_three}) {
      REQUIRE(receipt.add_phantom(name_of(each), false));
    }
  });
  for (const std::string& each : {one, two, three, on_one, on_three}) world.put(each);
  CHECK(tag_of(world, three, "bgcolor") == "2 '#111111'");
  SUBCASE("and what it met is still inherited") {
    world.put(four);
    CHECK(tag_of(world, three, "bgcolor") == "2 '#222222'");
  }
  SUBCASE("and what it met has been taken back") {
    world.put(tag_control(3, one, {"-bgcolor %"}));
    CHECK(tag_of(world, three, "bgcolor") == "");
    world.put(four);
    CHECK(tag_of(world, three, "bgcolor") == "2 '#222222'");
  }
  prove_tags(world);
}

TEST_CASE("a time is by the close child that is looked at last, also where that comes later") {
  World world;
  const std::string text(400, 'x');
  const auto at = [&](const std::string& second, const std::string& comment,
                      const std::string& parent) {
    return finish("C " + comment + text + "\nD 2021-01-01T00:00:" + second + "\n" +
                  (parent.empty() ? "" : "P " + hash(parent) + "\n") + "U ann\n");
  };
  const std::string one = at("10.000", "one", ""), later = at("11.000", "later", one);
  const std::string same = at("10.000", "same", one), below = at("20.000", "below", later);
  world.receive([&](Receipt& receipt) {
    for (const std::string& each : {one, below, later, same}) {
      REQUIRE(receipt.add_phantom(name_of(each), false));
    }
  });
  for (const std::string& each : {one, later, same}) world.put(each);
  CHECK(event_of(world, one, "mtime<omtime") == "1");
  world.put(below);
  CHECK(event_of(world, one, "mtime<omtime") == "0");
  prove_tags(world);
}

TEST_CASE("an inherited comment, user or date does not show on the timeline") {
  World world;
  const std::string one = tagged_check_in("one", "", 1), two = tagged_check_in("two", one, 2);
  const std::string tags =
      tag_control(1, one, {"*comment % new\\s[deadbeef12]", "*date % 2020-01-01", "*user % zed"});
  SUBCASE("after the check-ins") {
    for (const std::string& each : {one, two, tags}) world.put(each);
  }
  SUBCASE("between them") {
    for (const std::string& each : {one, tags, two}) world.put(each);
  }
  SUBCASE("before them") {
    for (const std::string& each : {tags, two, one}) world.put(each);
  }
  CHECK(event_of(world, one, "ecomment||euser") == "'new [deadbeef12]zed'");
  CHECK(event_of(world, two, "ecomment") == "NULL");
  CHECK(event_of(world, two, "euser") == "NULL");
  CHECK(event_of(world, two, "mtime=omtime") == "1");
  CHECK(world.sql("SELECT count(*) FROM backlink") == "1");
  prove_tags(world);
}

TEST_CASE("a tag that takes something back leaves nothing, but for a check-in that comes later") {
  World world;
  const std::string made = tagged_check_in("made", "", 1);
  const std::string bare = tag_control(1, made, {"-comment %", "-date %", "-user %"});
  const std::string valued = tag_control(
      1, made,
      {"-bgcolor % #aabbcc", "-comment % [deadbeef99]", "-date % 2020-01-01", "-user % zed"});
  std::string comment = "NULL", day = "2459215.5";
  SUBCASE("nothing given, before it") {
    for (const std::string& each : {bare, made}) world.put(each);
  }
  SUBCASE("nothing given, after it") {
    for (const std::string& each : {made, bare}) world.put(each);
    day = "NULL";
  }
  SUBCASE("a value given, before it") {
    for (const std::string& each : {valued, made}) world.put(each);
    comment = "'[deadbeef99]'";
    day = "2458849.5";
  }
  SUBCASE("a value given, after it") {
    for (const std::string& each : {made, valued}) world.put(each);
    day = "NULL";
  }
  CHECK(event_of(world, made, "ecomment") == comment);
  CHECK(event_of(world, made, "mtime") == day);
  prove_tags(world);
}

TEST_CASE("a tag that would give a ticket the change of another one is refused") {
  World world;
  const auto change = [](char digit) {
    return finish(
        fmt::format("D 2021-01-01T00:00:00\nJ title t\nK {}\nU ann\n", std::string(40, digit)));
  };
  const std::string one = change('1'), two = change('2'), made = tagged_check_in("made", "", 1);
  for (const std::string& each : {one, two, made}) world.put(each);
  const std::string tag = "tkt-" + std::string(40, '2');
  world.receive([&](Receipt& receipt) {
    for (const char* kind : {"*", "+", "-"}) {
      CHECK(!receipt.store(whole(tag_control(1, one, {kind + tag + " %"}))));
    }
    CHECK(!receipt.store(whole(tag_control(1, change('3'), {"+" + tag + " %"}))));
    CHECK(receipt.store(whole(tag_control(1, two, {"+" + tag + " %"}))));
    CHECK(receipt.store(whole(tag_control(1, made, {"+" + tag + " %"}))));
  });
  prove_tags(world);
}

TEST_CASE("a rebuild leaves what a tag makes private among the unclustered, as fossil's does") {
  World world;
  const std::string made = tagged_check_in("made", "", 1);
  // As if the tag had been here before the server knew what it means.
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
