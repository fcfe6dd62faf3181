#include <doctest/doctest.h>
#include <fmt/core.h>

#include "world.h"

using namespace quarry::sync;

namespace {

Reply clone(World& world, std::string_view user, const std::string& cards) {
  return world.ask({.body = login(user, secret_of(user, "pw"), kVersion + cards)});
}

std::string stored_cfile(World& world, const std::string& name) {
  const std::string where = " FROM blob WHERE uuid='" + name + "'";
  const std::string hex = world.value("SELECT hex(content)" + where);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  const std::string card =
      fmt::format("cfile {} {} {}\n", name, world.value("SELECT size" + where), bytes.size());
  return card + bytes + (bytes.ends_with('\n') ? "" : "\n");
}

/// Returns the number in REPLY with which the client must continue.
std::string next_of(const std::string& reply) {
  const std::size_t at = reply.find("clone_seqno ");
  REQUIRE(at != std::string::npos);
  return reply.substr(at + 12, reply.find('\n', at) - at - 12);
}

}  // namespace

TEST_CASE("clone 3 copies the stored bytes and is not compressed as a whole") {
  World world;
  world.say_as("i", kPushCard + file("some more text\n"));
  const Reply reply = clone(world, "g", "clone 3 1\n");
  CHECK(reply.content_type == "application/x-fossil-uncompressed");
  CHECK(reply.body == kServerVersion + stored_cfile(world, world.initial()) +
                          stored_cfile(world, sha3("some more text\n")) + "clone_seqno 0\n" +
                          kCodes + "# timestamp 2023-11-14T22:13:20 errors 0\n");
  CHECK(reply.figures.operation == "clone");
  CHECK(reply.figures.artifacts_out == 2);
}

TEST_CASE("a clone continues where the previous reply stopped") {
  World world;
  std::string push = kPushCard;
  for (int i = 0; i < 20; ++i) push += file(fmt::format("text {}\n", i));
  world.say_as("i", push);
  world.sql("INSERT INTO config(name,value) VALUES('max-download','400')");
  for (const char* version : {"2", "3"}) {
    std::string next = "1";
    std::size_t artifacts = 0;
    int replies = 0;
    while (next != "0" && replies < 30) {
      const std::string body = clone(world, "g", fmt::format("clone {} {}\n", version, next)).body;
      artifacts += count_cards(body, "cfile") + count_cards(body, "file");
      CHECK(body.contains("\n" + kCodes));
      next = next_of(body);
      ++replies;
    }
    CHECK(artifacts == 21);
    CHECK(replies > 3);
  }
}

TEST_CASE("deltas are sent as they are stored, by clone 3 with the size of the whole") {
  World world;
  const std::string base(500, 'x');
  world.say_as("i", kPushCard + file(base) + file_delta(base + "y", base));
  const Reply reply = clone(world, "g", "clone 2 2\n");
  CHECK(reply.content_type == "application/x-fossil-debug");
  CHECK(reply.body.starts_with(kServerVersion + file(base) + file_delta(base + "y", base) +
                               "clone_seqno 0\n" + kCodes + "# timestamp"));
  CHECK(clone(world, "g", "clone 3 3\n")
            .body.starts_with(
                fmt::format("{}cfile {} {} 501 ", kServerVersion, sha3(base + "y"), sha3(base))));
}

TEST_CASE("an artifact whose source may not be sent is sent as full content") {
  World world;
  const std::string base(500, 'x');
  const std::string derived = base + "y";
  world.say_as("i", kPushCard + file(base) + file_delta(derived, base));
  SUBCASE("a private source") {
    world.sql("INSERT INTO private SELECT rid FROM blob WHERE uuid='" + sha3(base) + "'");
  }
  SUBCASE("a shunned source") {
    world.sql("INSERT INTO shun(uuid) VALUES('" + sha3(base) + "')");
  }
  for (const char* version : {"2", "3"}) {
    const std::string body = clone(world, "g", fmt::format("clone {} 2\n", version)).body;
    CHECK(body.starts_with(kServerVersion + file(derived) + "clone_seqno 0\n"));
    CHECK_FALSE(body.contains(sha3(base)));
  }
}

TEST_CASE("a delta that was reversed between two requests of a clone makes no cycle") {
  World world;
  const std::string one(500, 'x');
  const std::string other = one + "y";
  world.say_as("i", kPushCard + file(one) + file_delta(other, one));
  // A client has received `one` as a delta on `other`, and continues its clone after `one`.
  // Meanwhile a compaction has made `other` a delta on `one`, so the server must send `other`
  // whole.
  for (const char* version : {"2", "3"}) {
    const std::string request = fmt::format("clone {} 3\n", version);
    REQUIRE(clone(world, "g", request).body.contains(sha3(other) + " " + sha3(one)));
    const std::int64_t now = world.clock().now().value / 1000;
    const auto turned = [&](std::int64_t when) {
      world.sql(
          fmt::format("REPLACE INTO config(name,value)"
                      " VALUES('quarry-compaction','3 3 0 0 0 0 {}')",
                      when));
      return clone(world, "g", request).body;
    };
    CHECK(turned(now - 60).starts_with(kServerVersion + file(other) + "clone_seqno 0\n"));
    CHECK(turned(now - 90'000).contains(sha3(other) + " " + sha3(one)));
    CHECK(turned(0).contains(sha3(other) + " " + sha3(one)));
    // A clone that starts at 1 can contain this delta, because both artifacts come from one
    // snapshot.
    turned(now - 60);
    CHECK(clone(world, "g", fmt::format("clone {} 1\n", version))
              .body.contains(sha3(other) + " " + sha3(one)));
    world.sql("DELETE FROM config WHERE name='quarry-compaction'");
  }
}

TEST_CASE("a first number of 0 and one beyond the end are accepted, malformed ones are not") {
  World world;
  const std::string whole = clone(world, "g", "clone 3 1\n").body;
  CHECK(clone(world, "g", "clone 3 0\n").body == whole);
  CHECK(clone(world, "g", "clone 9 1\n").body == whole);
  CHECK(clone(world, "g", "clone 3 99\n").body.starts_with(kServerVersion + "clone_seqno 0\n"));
  for (const char* words : {"x 1", "3 x", "-3 1", "3 -1", "3 99999999999999999999", "3 1.5"}) {
    CAPTURE(words);
    CHECK(world.error_as("g", fmt::format("clone {}\n", words)) ==
          fmt::format("bad command: clone {}\n", words));
  }
}

TEST_CASE("the legacy clone names every artifact and continues as a pull") {
  World world;
  world.say_as(
      "ix", kPushCard + file("one") + "private\n" + file("two") + "igot " + sha3("three") + "\n");
  const std::string names = kCodes + "igot " + world.initial() + "\nigot " + sha3("one") + "\n";
  CHECK(world.say_as("g", "clone\n") == names);
  CHECK(world.say_as("g", "clone 1 1\n") == names);
  CHECK(world.say_as("g", kVersion + "clone\ngimme " + sha3("one") + "\n") ==
        kServerVersion + names + file("one"));
}

TEST_CASE("a refused clone gets the project code, so that the client can log in") {
  World world;
  for (const std::string& cards : std::vector<std::string>{
           "clone 3 1\n", "clone 2 1\n", "clone\n",
           "pragma send-private\npragma client-version 22100 20230226 192424\nclone 3 1\n"}) {
    CAPTURE(cards);
    CHECK(world.say(cards) == kCodes + "error not\\sauthorized\\sto\\sclone\n");
    CHECK(world.figures().operation == "clone");
  }
  CHECK(world.ask({.body = "clone 3 1\n"}).content_type == "application/x-fossil-debug");
  // A user without the right to private artifacts is refused in the same way.
  world.sql("UPDATE user SET cap='g' WHERE login='nobody'");
  CHECK(world.say("pragma send-private\n" + kVersion + "clone 3 1\n") ==
        kCodes + "error not\\sauthorized\\sto\\ssync\\sprivate\\scontent\n");
}

TEST_CASE("private artifacts are sent in order to a clone that asks for them") {
  World world;
  world.say_as("ix",
               kPushCard + "private\n" + file("one") + file("two") + "private\n" + file("three"));
  world.add_user("gx", "gx", secret_of("gx", "pw"));
  const std::string body = clone(world, "gx", "pragma send-private\nclone 3 1\n").body;
  CHECK(body == kServerVersion + stored_cfile(world, world.initial()) + "private\n" + file("one") +
                    stored_cfile(world, sha3("two")) + "private\n" + file("three") +
                    "clone_seqno 0\n" + kCodes + "# timestamp 2023-11-14T22:13:20 errors 0\n");
  CHECK_FALSE(clone(world, "gx", "clone 3 1\n").body.contains(sha3("one")));
  // The order is also kept when each reply contains only one artifact.
  world.sql("INSERT INTO config(name,value) VALUES('max-download','1')");
  std::string next = "1";
  std::string order;
  while (next != "0" && order.size() < 10) {
    const std::string part = clone(world, "gx", "pragma send-private\nclone 3 " + next + "\n").body;
    CHECK(count_cards(part, "cfile") + count_cards(part, "file") == 1);
    order += count_cards(part, "file") == 1 ? 'p' : 'c';
    next = next_of(part);
  }
  CHECK(order == "cpcp");
}

TEST_CASE("a client from before SHA3 gets an error when it clones") {
  World world;
  CHECK(world.error_as("g", "clone 3 1\n") == "Fossil version 2.0 or later required.");
  const Reply reply = world.ask({.body = login("g", secret_of("g", "pw"), "clone 3 1\n")});
  CHECK(reply.content_type == "application/x-fossil-debug");
}
