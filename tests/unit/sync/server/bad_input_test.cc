#include <doctest/doctest.h>
#include <fmt/core.h>

#include "quarry/artifact/blob.h"
#include "world.h"

using namespace quarry::sync;

namespace {

/// Sends a push with a valid file and then CARDS, and returns the error. The file must not be
/// stored.
std::string error_after_good(World& world, const std::string& cards) {
  return world.error_as("i", kVersion + kPushCard + kPullCard + file("good") + cards);
}

}  // namespace

TEST_CASE("an artifact that does not match its hash fails the whole request") {
  World world;
  const std::string name = sha3("other");
  CHECK(error_after_good(world, fmt::format("file {} 3\nabc", name)).contains(name));
  CHECK(error_after_good(world, fmt::format("file {} 3\nabc", sha1("other")))
            .contains(sha1("other")));
}

TEST_CASE("a malformed card is quoted in the error, as printable text") {
  World world;
  const std::string name(40, 'a');
  for (const std::string& card :
       {std::string("igot x"), "igot " + name + "a", "igot " + std::string(40, 'A'),
        "gimme " + std::string(64, 'g'), std::string("\xff\xfe\xfd"), "igot\x01" + name}) {
    CAPTURE(card);
    CHECK(error_after_good(world, card + "\n").starts_with("bad command: "));
  }
  const Reply reply = world.ask({.body = "bogus \x1b[31m \xff\r\n"});
  for (const char c : reply.body) CHECK(((c >= ' ' && c <= '~') || c == '\n'));
}

TEST_CASE("more cards than allowed are refused") {
  World world;
  world.options.max_cards = 100;
  std::string cards;
  for (int i = 0; i < 101; ++i) cards += "private\n";
  CHECK(error_after_good(world, cards).starts_with("not authorized"));
  cards.clear();
  for (int i = 0; i < 101; ++i) cards += "cookie x\n";
  CHECK(error_after_good(world, cards) == "more than 100 cards in one request");
  cards.clear();
  for (int i = 0; i < 101; ++i) cards += i % 2 == 0 ? "#\n" : "\n";
  CHECK_MESSAGE(error_after_good(world, cards) == "more than 100 cards in one request",
                "comments and empty lines are work as well");
}

TEST_CASE("a request that brings too much or takes too long stores nothing") {
  World world;
  SUBCASE("too many artifacts") {
    world.options.max_artifacts = 2;
    CHECK(world.say_as("i", kPushCard + file("one") + file("two") + file("three")) ==
          "error more\\sthan\\s2\\sartifacts\\sin\\sone\\srequest\n");
  }
  SUBCASE("too long") {
    world.options.max_time = std::chrono::seconds(-1);
    CHECK(world.say_as("i", kPushCard + file("one")).find("send\\sit\\sin\\sparts") !=
          std::string::npos);
  }
  CHECK(world.value("SELECT count(*) FROM blob") == "1");
}

TEST_CASE("cards of later versions and other features are skipped, including their bytes") {
  World world;
  const std::string skipped =
      "reqconfig /nothing\nuvgimme a.txt\npragma uv-hash x\n"
      "pragma ci-lock a b\npragma later a b c d\ncookie text\n"
      "pragma req-clusters\npragma client-url http://127.0.0.1/\n";
  CHECK(world.say_as("i", kPushCard + skipped + file("one")).empty());
  CHECK(world.value("SELECT count(*) FROM blob") == "2");
  CHECK(world.say_as("a", "config /user 3\nabc\nconfig /x 0\n\n" + kPullCard).starts_with("igot "));
}

TEST_CASE("a request other than a sync gets an HTTP error") {
  World world;
  for (const char* type :
       {"text/html", "application/x-www-form-urlencoded", "application/x-fossil-uncompressed"}) {
    const Reply reply = world.ask({.content_type = type, .body = "x=y"});
    CHECK(reply.status == 415);
    CHECK(reply.content_type.starts_with("text/plain"));
  }
}

TEST_CASE("a compressed request is answered compressed, a broken one with a status") {
  World world;
  const std::string type = "application/x-fossil";
  const std::string body = quarry::artifact::blob_compress(kVersion);
  const Reply reply = world.ask({.content_type = type, .body = body});
  CHECK(reply.status == 200);
  CHECK(reply.content_type == type);
  CHECK(quarry::artifact::blob_expand(reply.body, 1000).value() ==
        kServerVersion + "# timestamp 2023-11-14T22:13:20 errors 0\n");
  for (const std::string& broken : {body.substr(0, 10), std::string("abc"), body + "x"}) {
    CHECK(world.ask({.content_type = type, .body = broken}).status == 400);
  }
  CHECK(world.ask({.content_type = type, .body = ""}).status == 200);
}

TEST_CASE("a body over the limit is refused before it is decompressed") {
  World world;
  world.options.max_body = 1000;
  const std::string zeros(1001, '\n');
  const std::string bomb = quarry::artifact::blob_compress(zeros);
  CHECK(world.ask({.content_type = "application/x-fossil", .body = bomb}).status == 413);
  CHECK(world.ask({.content_type = "application/x-fossil-debug", .body = zeros}).status == 413);
  CHECK(world.ask({.content_type = "application/x-fossil", .body = "\xff\xff\xff\xff\x78\x9c"})
            .status == 413);
}

TEST_CASE("a file of an unknown schema is neither read nor written") {
  World world;
  world.sql("UPDATE config SET value='2031-01-01' WHERE name='aux-schema'");
  const std::string expected = "database schema is out-of-date on the server.";
  for (const std::string& body :
       {std::string(), "clone 3 1\n" + kPullCard, kPushCard + file("one")}) {
    CAPTURE(body);
    CHECK(world.refusal_as("s", body) == expected);
    CHECK(world.figures().is_fault);
    CHECK(world.figures().error.find("its aux-schema is \"2031-01-01\"") != std::string::npos);
  }
  // The repository can be used again after the setting is corrected.
  world.sql("UPDATE config SET value='2015-01-24' WHERE name='aux-schema'");
  CHECK(world.say_as("s", kPushCard + file("one")).empty());
}
