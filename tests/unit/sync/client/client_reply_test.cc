// Replies that no server should send.
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

/// A clone that has just started.
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
  SUBCASE("content that is not what its name says") {
    body = good + lie;
  }
  SUBCASE("an error at the end") {
    body = good + "error no\\sway\n";
  }
  SUBCASE("a card of no protocol") {
    body = good + "nonsense 1\n";
  }
  SUBCASE("a card for servers") {
    body = good + "login a b c\n";
  }
  SUBCASE("the end is missing") {
    body = good + "file " + sha3("more\n") + " 5\nmo";
  }
  SUBCASE("a name that is none") {
    body = good + "igot xyz\n";
  }
  SUBCASE("another project") {
    body = good + "push " + kServerCode + " 2222222222\n";
  }
  SUBCASE("a page for people") {
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

TEST_CASE("a server that goes on for ever is detected") {
  SUBCASE("a clone that does not get on") {
    ReplyClone clone;
    ClientSession& session = clone.session;
    const std::string reply = "clone_seqno 5\npush " + kServerCode + " " + kProjectCode + "\n";
    REQUIRE(session.next_request().has_value());
    REQUIRE(session.take_reply("application/x-fossil-debug", reply).has_value());
    REQUIRE(session.next_request().has_value());
    CHECK_FALSE(session.take_reply("application/x-fossil-debug", reply).has_value());
  }
  SUBCASE("a clone that gets on without anything") {
    ReplyClone clone;
    ClientSession& session = clone.session;
    int replies = 0;
    for (bool is_taken = true; is_taken && replies < 1000; ++replies) {
      REQUIRE(session.next_request().has_value());
      const std::string reply =
          fmt::format("clone_seqno {}\npush {} {}\n", replies + 2, kServerCode, kProjectCode);
      is_taken = session.take_reply("application/x-fossil-debug", reply).has_value();
    }
    CHECK(replies == 101);
  }
  SUBCASE("promises of what never comes, and questions that no answer ends") {
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

TEST_CASE("a reply shows the difference between the clocks") {
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
