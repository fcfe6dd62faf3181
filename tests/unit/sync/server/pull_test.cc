#include <doctest/doctest.h>
#include <fmt/core.h>

#include "world.h"

using namespace quarry::sync;

namespace {

const std::string kOne = "one\n";
const std::string kTwo = "two, which is longer\n";
const std::string kThree = "three\n";

/// Returns a long text. Two versions differ in one line, so a delta is much shorter.
std::string long_text(int version) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("line {} of a text\n", i == 100 ? -version : i);
  return text;
}

/// A clock that advances by kMilliseconds at each reading.
template <int kMilliseconds>
std::chrono::steady_clock::time_point advancing() {
  static std::chrono::steady_clock::time_point shown;
  return shown += std::chrono::milliseconds(kMilliseconds);
}

}  // namespace

TEST_CASE("an empty request is answered with the time, and with the version if it has one") {
  World world;
  for (const char* body : {"", "# nothing\n\npragma unknown thing\ncookie whatever\n",
                           "pragma client-version 22100\n", "pragma client-version\n"}) {
    CHECK(world.say(body).empty());
    CHECK(world.figures().operation.empty());
  }
  CHECK(world.say(kVersion) == kServerVersion);
}

TEST_CASE("a pull gets the names of unclustered artifacts") {
  World world;
  world.say_as("i", kPushCard + file(kOne));
  CHECK(world.say_as("o", kPullCard) == igot(world.initial()) + igot(sha3(kOne)));
  CHECK(world.figures().operation == "pull");
  CHECK(world.figures().cards == 2);
}

TEST_CASE("a sync gets only names that the client has not mentioned") {
  World world;
  world.say_as("i", kPushCard + file(kOne));
  CHECK(world.say_as("i", kPullCard + kPushCard + igot(sha3(kOne))) == igot(world.initial()));
  CHECK(
      world.say_as("i", kPullCard + kPushCard + igot(sha3(kOne)) + igot(world.initial())).empty());
  CHECK(world.say_as("i", kPullCard + kPushCard + igot(world.initial()) + file(kTwo)) ==
        igot(sha3(kOne)));
  CHECK(world.figures().operation == "sync");
}

TEST_CASE("mentioned names are left out, also among many") {
  World world;
  std::string body = kPushCard;
  std::string names;
  for (int i = 0; i < 60; ++i) {
    body += file(fmt::format("text {}", i));
    if (i % 2 == 0) names += igot(sha3(fmt::format("text {}", i)));
  }
  world.say_as("i", body);
  const std::string reply = world.say_as("i", kPushCard + kPullCard + names + names);
  CHECK(count_cards(reply, "igot") == 31);
  for (int i = 0; i < 60; ++i) {
    CHECK(reply.contains(sha3(fmt::format("text {}", i))) == (i % 2 == 1));
  }
}

TEST_CASE("an igot of a client that may not push is ignored") {
  World world;
  CHECK(world.say_as("o", kPullCard + igot(world.initial())) == igot(world.initial()));
}

TEST_CASE("a requested artifact is sent whole, and not named again") {
  World world;
  world.say_as("i", kPushCard + file(kOne) + file(kThree));
  const std::string reply = world.say_as(
      "o", kVersion + kPullCard + gimme(sha3(kOne)) + gimme(sha3(kThree)) + gimme(sha3(kOne)));
  CHECK(reply == kServerVersion + file(kThree) + file(kOne) + igot(world.initial()));
  CHECK(world.figures().artifacts_out == 2);
}

TEST_CASE("requests without a pull, and for unknown artifacts or phantoms, are ignored") {
  World world;
  world.say_as("i", kPushCard + igot(sha3("phantom")));
  CHECK(world.say_as("o", kVersion + gimme(world.initial())) == kServerVersion);
  const std::string reply =
      world.say_as("o", kVersion + kPullCard + gimme(sha3("phantom")) + gimme(sha3("?")));
  CHECK(reply == kServerVersion + igot(world.initial()));
}

TEST_CASE("a delta is sent if the client is known to have its source") {
  World world;
  const std::string old_text = long_text(1);
  const std::string new_text = long_text(2);
  world.say_as("i", kPushCard + igot(sha3(old_text)));
  world.say_as("i", kPushCard + file(new_text) + file_delta(old_text, new_text));
  REQUIRE(world.value("SELECT count(*) FROM delta") == "1");
  const std::string whole = world.say_as("i", kVersion + kPullCard + gimme(sha3(old_text)));
  CHECK(whole.starts_with(kServerVersion + file(old_text)));
  const std::string has_source = world.say_as(
      "i", kVersion + kPullCard + kPushCard + igot(sha3(new_text)) + gimme(sha3(old_text)));
  CHECK(has_source == kServerVersion + file_delta(old_text, new_text) + igot(world.initial()));
  const std::string both =
      world.say_as("i", kVersion + kPullCard + gimme(sha3(old_text)) + gimme(sha3(new_text)));
  CHECK(both.contains(file(new_text)));
  CHECK(both.contains(file_delta(old_text, new_text)));
}

TEST_CASE("if the reply is full, the rest is named so that the client asks again") {
  World world;
  world.say_as("i", kPushCard + file(kOne) + file(kTwo) + file(kThree));
  world.sql("INSERT INTO config(name,value) VALUES('max-download','50')");
  const std::string asking = gimme(sha3(kOne)) + gimme(sha3(kTwo)) + gimme(sha3(kThree));
  const std::string reply = world.say_as("o", kVersion + kPullCard + asking);
  CHECK(count_cards(reply, "file") == 1);
  CHECK(count_cards(reply, "igot") == 3);
  world.sql("UPDATE config SET value='0' WHERE name='max-download'");
  CHECK(count_cards(world.say_as("o", kVersion + kPullCard + asking), "file") == 1);
}

TEST_CASE("the time limit ends a reply as the size limit does; 0 or less means a second") {
  World world;
  world.say_as("i", kPushCard + file(kOne) + file(kTwo));
  world.options.max_time = std::chrono::hours(24);
  // Changes of the wall clock must not end the reply.
  world.clock().step = 3'600'000;
  const std::string body = login("o", secret_of("o", "pw"),
                                 kVersion + kPullCard + gimme(sha3(kOne)) + gimme(sha3(kTwo)));
  const auto sent = [&](const char* limit, std::chrono::steady_clock::time_point (*now)()) {
    world.sql(
        fmt::format("REPLACE INTO config(name,value) VALUES('max-download-time','{}')", limit));
    world.options.now = now;
    return count_cards(world.ask({.body = body}).body, "file");
  };
  CHECK(sent("5", &advancing<1>) == 2);
  CHECK(sent("5", &advancing<6000>) == 1);
  for (const char* limit : {"0", "-1", "-9223372036854775808", "1"}) {
    CAPTURE(limit);
    CHECK(sent(limit, &advancing<1>) == 2);
    CHECK(sent(limit, &advancing<1000>) == 1);
  }
}

TEST_CASE("a client from before SHA3 gets an error when it would need to understand one") {
  World world;
  const std::string old = "pragma client-version 10000 20120101 120000\n";
  CHECK(world.error_as("o", old + kPullCard + gimme(world.initial())) ==
        "Fossil version 2.0 or later required.");
  world.say_as("i", kPushCard + fmt::format("file {} {}\n{}", sha1(kOne), kOne.size(), kOne));
  CHECK(count_cards(world.say_as("o", old + kPullCard + gimme(sha1(kOne))), "file") == 1);
}

TEST_CASE("a private artifact is sent only in a private session") {
  World world;
  world.say_as("ix", kPushCard + "private\n" + file(kOne) + file(kTwo));
  const std::string send_private = "pragma send-private\n";
  const std::string names = igot(world.initial()) + igot(sha3(kTwo));
  CHECK(world.say_as("i", kPullCard) == names);
  CHECK(world.say_as("ix", kPullCard) == names);
  CHECK(world.say_as("ix", send_private + kPullCard) == names + "igot " + sha3(kOne) + " 1\n");
  CHECK(world.say_as("ix", kVersion + send_private + kPullCard + gimme(sha3(kOne))) ==
        kServerVersion + "private\n" + file(kOne) + names);
  // The artifact is announced as private, so the client stops requesting it.
  CHECK(world.say_as("i", kVersion + kPullCard + gimme(sha3(kOne))) ==
        kServerVersion + "igot " + sha3(kOne) + " 1\n" + names);
  const std::string old = "pragma client-version 21100 20200412 120000\n";
  CHECK(world.say_as("i", old + kPullCard + gimme(sha3(kOne))) == kServerVersion + names);
  CHECK(world.error_as("i", send_private + kPullCard) == "not authorized to sync private content");
}

TEST_CASE("a shunned artifact is neither named nor sent") {
  World world;
  world.say_as("i", kPushCard + file(kOne));
  world.sql("INSERT INTO shun(uuid) VALUES('" + sha3(kOne) + "')");
  CHECK(world.say_as("o", kPullCard + gimme(sha3(kOne))) == igot(world.initial()));
  CHECK(count_cards(world.say_as("s", kVersion + "clone 3 1\n"), "cfile") == 1);
  CHECK(world.say_as("s", "clone\n") ==
        "push " + kServerCode + " " + kProjectCode + "\n" + igot(world.initial()));
}

TEST_CASE("a pull makes a cluster if a hundred artifacts are unclustered") {
  World world;
  std::string many = kPushCard;
  for (int i = 0; i < 98; ++i) many += file(fmt::format("text {}", i));
  world.say_as("i", many);
  CHECK(count_cards(world.say_as("o", kPullCard), "igot") == 99);
  // A push would make the cluster itself, so the last artifact is written directly to the file.
  world.sql("INSERT INTO blob(rcvid,size,uuid,content) VALUES(1,0,'" + sha3("") +
            "',x'00000000789c030000000001'); INSERT INTO unclustered VALUES(last_insert_rowid())");
  const std::string reply = world.say_as("o", kPullCard);
  CHECK(count_cards(reply, "igot") == 1);
  const std::string cluster = world.value("SELECT uuid FROM unclustered JOIN blob USING(rid)");
  CHECK(reply == igot(cluster));
  CHECK(world.value("SELECT login FROM blob JOIN rcvfrom USING(rcvid) JOIN user USING(uid) "
                    "WHERE uuid='" +
                    cluster + "'") == "o");
}
