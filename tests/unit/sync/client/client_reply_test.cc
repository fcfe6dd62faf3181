// Tests how the client handles invalid replies.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "quarry/repository/whole_file.h"
#include "quarry/sync/client_session.h"
#include "temporary_folder.h"
#include "world.h"

using namespace quarry::sync;

namespace {

ClientOptions reply_both_ways() {
  ClientOptions options;
  options.pull = options.push = true;
  return options;
}

/// A clone before its first reply.
struct ReplyClone {
  static ClientOptions options() {
    ClientOptions options;
    options.clone = true;
    return options;
  }
  static std::unique_ptr<quarry::repository::Repository> begun(const std::filesystem::path& path) {
    REQUIRE(quarry::repository::init_for_clone(path, "me").has_value());
    auto file = quarry::repository::Repository::open(path);
    REQUIRE(file.has_value());
    return std::move(*file);
  }
  bool takes(const std::string& reply) {
    REQUIRE(session.next_request().has_value());
    return session.take_reply("application/x-fossil-debug", reply).has_value();
  }
  TemporaryFolder folder;
  std::unique_ptr<quarry::repository::Repository> file = begun(folder / "clone.fossil");
  ClientSession session{*file, options()};
};

}  // namespace

TEST_CASE("an invalid reply leaves the file as it was") {
  World client;
  const std::string good = file("good\n");
  const std::string lie = "file " + sha3("one thing\n") + " 13\nanother thing";
  std::string type = "application/x-fossil-debug";
  std::string body;
  SUBCASE("content that does not match its name") {
    body = good + lie;
  }
  SUBCASE("an error at the end") {
    body = good + "error no\\sway\n";
  }
  SUBCASE("an unknown card") {
    body = good + "nonsense 1\n";
  }
  SUBCASE("a card that only clients send") {
    body = good + "login a b c\n";
  }
  SUBCASE("a truncated reply") {
    body = good + "file " + sha3("more\n") + " 5\nmo";
  }
  SUBCASE("an invalid name") {
    body = good + "igot xyz\n";
  }
  SUBCASE("another project") {
    body = good + "push " + kServerCode + " 2222222222\n";
  }
  SUBCASE("a web page") {
    type = "text/html";
    body = "<html>";
  }
  SUBCASE("broken compression") {
    type = "application/x-fossil";
    body = "abcdefgh";
  }
  const std::string before = client.dump();
  ClientSession session(client.repository(), reply_both_ways());
  REQUIRE(session.next_request().has_value());
  CHECK_FALSE(session.take_reply(type, body).has_value());
  CHECK(client.dump() == before);
}

TEST_CASE("the error about an unusable reply names the reply") {
  World client;
  ClientSession session(client.repository(), reply_both_ways());
  REQUIRE(session.next_request().has_value());
  const auto message = [&](std::string_view body) {
    const auto taken = session.take_reply("application/x-fossil", std::string(body));
    REQUIRE_FALSE(taken.has_value());
    return taken.error().message;
  };
  constexpr std::string_view kGigabyte("\x40\0\0\0x\x9c", 6);
  CHECK(message(kGigabyte).starts_with("the reply is larger than "));
  CHECK(message("abcdefgh").starts_with("the reply "));
}

TEST_CASE("a server that makes no progress is detected") {
  SUBCASE("a clone that stays at one position") {
    ReplyClone clone;
    const std::string reply = "clone_seqno 5\n" + kCodes;
    CHECK(clone.takes(reply));
    CHECK_FALSE(clone.takes(reply));
  }
  SUBCASE("a clone without artifacts") {
    ReplyClone clone;
    int replies = 0;
    while (clone.takes(fmt::format("clone_seqno {}\n{}", replies + 2, kCodes))) ++replies;
    CHECK(replies == 100);
  }
  SUBCASE("igot cards for an artifact that is never sent, and repeated gimme cards") {
    World client;
    client.say_as("ix", kPushCard + file("mine\n"));
    ClientSession session(client.repository(), reply_both_ways());
    const std::string reply = "igot " + sha3("x") + "\ngimme " + sha3("mine\n") + "\n";
    int rounds = 0;
    while (!session.is_done() && rounds < 20) {
      ++rounds;
      REQUIRE(session.next_request().has_value());
      REQUIRE(session.take_reply("application/x-fossil-debug", reply).has_value());
    }
    CHECK(rounds < 10);
  }
}

TEST_CASE("messages from a server cannot control the terminal") {
  World client;
  ClientSession session(client.repository(), reply_both_ways());
  REQUIRE(session.next_request().has_value());
  REQUIRE(
      session.take_reply("application/x-fossil-debug", "message a\\sb\x1b[2Jc\\n\n").has_value());
  const auto messages = session.take_messages();
  REQUIRE(messages.size() == 1);
  CHECK(messages[0] == "a b\\x1b[2Jc\\x0a");
}

TEST_CASE("the difference between the clocks is computed from a reply") {
  World client;
  ClientSession session(client.repository(), reply_both_ways());
  const auto skew_after = [&](std::string_view line) {
    REQUIRE(session.next_request().has_value());
    REQUIRE(session.take_reply("application/x-fossil-debug", line).has_value());
    return session.figures().clock_skew;
  };
  // The client's clock is at 2023-11-14T22:13:20.
  SUBCASE("behind") {
    CHECK(skew_after("# timestamp 2023-11-14T22:12:50 errors 0\n") == -30);
  }
  SUBCASE("ahead") {
    CHECK(skew_after("# timestamp 2023-11-15T22:13:20 errors 0\n") == 86400);
  }
  SUBCASE("no time") {
    CHECK(skew_after("# timestamp now errors 0\n") == 0);
  }
}
