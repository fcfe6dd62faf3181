// Compares our derived tables with fossil's, for artifacts that fossil accepts but does not create.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "odd_artifacts.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

std::string technote(const std::string& inner) {
  return finish(
      fmt::format("C note\nD 2021-01-01T00:00:00\nE 2021-01-01T00:00:00 {}\n{}U ann\nW "
                  "2\nhi\n",
                  kId, inner));
}

}  // namespace

TEST_CASE("a thread whose root is a reply has the title of the thread above") {
  const auto post = [](const std::string& cards, int day) {
    return finish(fmt::format("D 2021-01-{:02d}T00:00:00\n{}U ann\nW 2\nhi\n", day, cards));
  };
  const std::string root = post("H Title\n", 1);
  const std::string reply = post(fmt::format("G {0}\nI {0}\n", hash(root)), 2);
  const std::string below = post(fmt::format("G {0}\nI {0}\n", hash(reply)), 3);
  const std::string edit = post(fmt::format("G {0}\nH New\nP {0}\n", hash(root)), 4);
  in_orders({{root, reply, below, edit}, {root, reply, edit, below}, {below, root, reply, edit}},
            [&](World& world) {
              CHECK(world.sql("SELECT comment FROM event JOIN blob ON rid=objid WHERE uuid='" +
                              hash(below) + "'") == "Reply: New");
              check_derived(world);
            });
}

TEST_CASE("a reply without a thread has no title, and is not a thread for others") {
  World world;
  const auto post = [](const std::string& cards) {
    return finish("D 2021-01-01T00:00:00\n" + cards + "U ann\nW 2\nhi\n");
  };
  const std::string root = post("H Title\n");
  const std::string reply = post("I " + hash(root) + "\n");
  world.put_all({root, reply});
  CHECK(world.sql("SELECT comment FROM event JOIN blob ON rid=objid WHERE uuid='" + hash(reply) +
                  "'") == "Reply: <i>Unknown</i>");
  check_derived(world);
}

TEST_CASE("a reply to an artifact that is not a post has no title") {
  World world;
  const auto reply_to = [](const std::string& root) {
    return finish(fmt::format("D 2021-01-03T00:00:00\nG {0}\nI {0}\nU ann\nW 2\nhi\n", hash(root)));
  };
  std::string root, after;
  SUBCASE("an attachment to a later technote") {
    root = finish(
        fmt::format("A a.txt {} {}\nD 2021-01-02T00:00:00\nU ann\n", kId, std::string(64, 'a')));
    after = technote("");
  }
  SUBCASE("a ticket change") {
    root = finish("D 2021-01-02T00:00:00\nJ title x:\\sy\nK " + kId + "\nU ann\n");
  }
  SUBCASE("a wiki page with a colon in its name") {
    root = finish("D 2021-01-02T00:00:00\nL x:\\sy\nU ann\nW 2\nhi\n");
  }
  const std::string reply = reply_to(root);
  world.put_all({root, reply, after});
  CHECK(world.sql("SELECT comment FROM event JOIN blob ON rid=objid WHERE uuid='" + hash(reply) +
                  "'") == "Reply: <i>Unknown</i>");
  check_derived(world);
}

TEST_CASE("an edit that arrives before its control artifact shows on it") {
  World world;
  const std::string edited = control(1, "nothing", "+closed x");
  const std::string edit = control(2, edited, "+comment better");
  // The phantom gives `edited` a lower row number than `edit`, so `edited` is processed first.
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.add_phantom(name_of(edited), false)); });
  world.put_all({edit, edited});
  CHECK(world.sql("SELECT ecomment FROM event WHERE ecomment IS NOT NULL") == "better");
  check_derived(world);
}

TEST_CASE("with plain data as primary parent a merge parent keeps its time") {
  World world;
  const std::string data = "plain data\n";
  const auto check_in = [](const std::string& comment, const std::string& time,
                           const std::string& parents) {
    return finish(fmt::format("C {}\nD 2021-01-01T00:00:{}\n{}U ann\n", comment, time, parents));
  };
  const std::string merged = check_in("merged", "00.427", "");
  const std::string child =
      check_in("child", "00", fmt::format("P {} {}\n", hash(data), hash(merged)));
  SUBCASE("the merged one arrives first") {
    world.put_all({data, merged, child});
  }
  SUBCASE("it arrives last") {
    world.put_all({child, data, merged});
  }
  SUBCASE("it is announced last") {
    world.receive([&](Receipt& receipt) {
      for (const std::string& each : {child, merged}) {
        REQUIRE(receipt.add_phantom(name_of(each), false));
      }
    });
    world.put_all({data, merged, child});
  }
  CHECK(world.sql("SELECT count(*) FROM event WHERE mtime<>omtime") == "0");
  check_derived(world);
}

TEST_CASE("a colour of an attachment to a technote shows, in any order of arrival") {
  const std::string note = technote("");
  const std::string attachment = finish(
      fmt::format("A a.txt {} {}\nD 2021-01-02T00:00:00\nU ann\n", kId, std::string(64, 'a')));
  const std::string colour = control(1, attachment, "+bgcolor #aabbcc");
  in_orders({{colour, attachment, note}, {note, colour, attachment}}, [&](World& world) {
    CHECK(world.sql("SELECT count(*) FROM event WHERE bgcolor IS NOT NULL") == "1");
    check_derived(world);
  });
}

TEST_CASE("a branch that is known before the parent does not make the parent a leaf") {
  World world;
  const std::string lost = "P " + std::string(64, 'b') + "\n";
  SUBCASE("a technote's own") {
    world.put(technote(lost + "T +branch * side\n"));
  }
  SUBCASE("a technote's by a later card") {
    const std::string note = technote(lost);
    world.put(note);
    world.put(control(1, note, "+branch side"));
  }
  SUBCASE("by an earlier card") {
    const std::string note = technote(lost);
    world.put(control(1, note, "+branch side"));
    world.put(note);
  }
  SUBCASE("a check-in's own") {
    world.put(finish("C c\nD 2021-01-01T00:00:00\n" + lost + "T *branch * side\nU ann\n"));
  }
  SUBCASE("a check-in's by an earlier card, which makes the parent one") {
    const std::string root = finish("C r\nD 2021-01-01T00:00:00\nU ann\n");
    const std::string made = finish("C c\nD 2021-01-02T00:00:00\nP " + hash(root) + "\nU ann\n");
    world.put_all({control(2, made, "*branch side"), root, made});
    CHECK(world.sql("SELECT count(*) FROM leaf") == "3");
  }
  check_derived(world);
}
