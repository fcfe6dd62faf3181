// Tests that a request ends at its time limit, and when its client disconnects.

#include "cards/bound.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <functional>

#include "world.h"

using namespace quarry::sync;

namespace {

/// A clock that advances by `held_step` at each reading.
std::chrono::steady_clock::time_point held_time;
std::chrono::milliseconds held_step;

std::chrono::steady_clock::time_point held_now() {
  return held_time += held_step;
}

/// A World with a time limit of 100 s for requests. Each reading of the clock advances it by STEP.
struct SlowWorld : World {
  explicit SlowWorld(std::chrono::milliseconds step) {
    held_step = step;
    options.max_time = std::chrono::seconds(100);
    options.now = held_now;
  }
};

constexpr std::string_view kTooLong =
    "error the\\srequest\\stook\\slonger\\sthan\\s100\\ss:\\ssend\\sit\\sin\\sparts\n";

template <typename Card>
std::string cards_of(int count, Card card) {
  std::string cards;
  for (int i = 0; i < count; ++i) cards += card(i);
  return cards;
}
std::string igots(int count) {
  return cards_of(count, [](int i) { return igot(sha3(fmt::format("? {}", i))); });
}
std::string files(int count) {
  return cards_of(count, [](int i) { return file(fmt::format("content {}\n", i)); });
}
std::string gimmes(int count) {
  return cards_of(count, [](int i) { return gimme(sha3(fmt::format("content {}\n", i))); });
}

/// Sends a request as USER. The session calls HAS_LEFT to check whether the client has
/// disconnected.
Reply ask_watched(World& world, const char* user, const std::string& cards,
                  const std::function<bool()>& has_left) {
  const std::string body = login(user, secret_of(user, "pw"), cards);
  return world.ask({.body = body, .has_left = has_left});
}

}  // namespace

TEST_CASE("a request that exceeds the time limit ends and changes nothing") {
  SlowWorld world(std::chrono::milliseconds(0));
  REQUIRE(world.say_as("i", kPushCard + files(3000)).empty());
  world.say_as("i", kPushCard + igots(20000));
  struct Request {
    const char* user;
    std::string cards;
  };
  const std::vector<Request> requests{
      {"i", kPushCard + igots(5000)},
      {"i", kPushCard + files(5000)},
      {"i", kPushCard + igots(30000)},
      {"o", kPullCard},                // the repository has 20,000 phantoms
      {"o", kPullCard + igots(2000)},  // the igot cards are ignored
      {"o", kVersion + kPullCard + gimmes(2000)},
      {"g", kVersion + "clone\n"},
      {"o", kPullCard + "pragma send-catalog\n"},
      {"a", kPushCard + std::string(2000, '\n') + "cookie x\ncookie y\n" + igots(1000)},
  };
  for (const Request& request : requests) {
    CAPTURE(request.cards.substr(0, 150));
    world.sql("UPDATE config SET mtime=mtime+1");  // invalidates the cached settings
    held_step = std::chrono::seconds(30);
    const std::string before = world.value("SELECT count(*)||' '||total(size) FROM blob");
    CHECK(world.say_as(request.user, request.cards) == kTooLong);
    CHECK(world.value("SELECT count(*)||' '||total(size) FROM blob") == before);
    held_step = std::chrono::milliseconds(0);
    CHECK(world.say_as("o", kVersion + kPullCard + gimmes(1)).find("file ") != std::string::npos);
  }
}

TEST_CASE("a push is stored completely or not at all, whenever its client disconnects") {
  const auto push_until = [](int last, int& checks) {
    SlowWorld world(std::chrono::milliseconds(150));
    world.options.max_time = std::chrono::hours(24);
    checks = 0;
    const Reply reply =
        ask_watched(world, "i", kPushCard + files(2000), [&] { return ++checks == last; });
    const bool is_stored = reply.figures.error.empty();
    if (!is_stored) CHECK(reply.figures.error == "the client disconnected");
    CHECK_FALSE(reply.figures.is_fault);
    // The repository also contains the initial check-in and three clusters.
    CHECK(world.value("SELECT count(*) FROM blob") == (is_stored ? "2004" : "1"));
    CHECK(world.value("SELECT count(*) FROM rcvfrom") == (is_stored ? "2" : "1"));
    return is_stored;
  };
  int checks = 0;
  REQUIRE(push_until(-1, checks));
  const int all = checks;
  REQUIRE(all > 20);
  for (int last = 1; last <= all; last += all / 7) CHECK_FALSE(push_until(last, checks));
  CHECK_FALSE(push_until(all, checks));
}

TEST_CASE("a reply that may end early does so in time, and the client continues from there") {
  SlowWorld world(std::chrono::milliseconds(0));
  REQUIRE(world.say_as("i", kPushCard + files(400)).empty());
  held_step = std::chrono::seconds(5);
  SUBCASE("a clone") {
    std::string reply = world.say_as("g", kVersion + "clone 3 1\n");
    CHECK(world.figures().error.empty());
    std::size_t sent = count_cards(reply, "cfile") + count_cards(reply, "file");
    CHECK(sent < 400);
    int rounds = 1;
    for (; reply.find("clone_seqno 0\n") == std::string::npos && rounds < 1000; ++rounds) {
      const std::size_t at = reply.find("clone_seqno ") + 12;
      const std::string next = reply.substr(at, reply.find('\n', at) - at);
      reply = world.say_as("g", kVersion + "clone 3 " + next + "\n");
      sent += count_cards(reply, "cfile") + count_cards(reply, "file");
    }
    CHECK(rounds > 1);
    CHECK(std::to_string(sent) == world.value("SELECT count(*) FROM blob"));
  }
  SUBCASE("a pull") {
    const std::string reply = world.say_as("o", kVersion + kPullCard + gimmes(400));
    CHECK(world.figures().error.empty());
    CHECK(count_cards(reply, "file") > 0);
    CHECK(count_cards(reply, "igot") > 0);
    CHECK(count_cards(reply, "file") + count_cards(reply, "igot") >= 400);
  }
}

TEST_CASE("waiting for another writer ends with the time limit or the client") {
  SlowWorld world(std::chrono::milliseconds(150));
  sqlite3* writer = nullptr;
  REQUIRE(sqlite3_open(world.path().c_str(), &writer) == SQLITE_OK);
  REQUIRE(sqlite3_exec(writer, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto began = std::chrono::steady_clock::now();
  const auto ask = [&](bool leaves) {
    bool is_waiting = false;
    const std::string body = login("i", secret_of("i", "pw"), kPushCard + file("one"));
    return world.ask({.body = body,
                      .on_progress =
                          [&](const SessionProgress& now) {
                            if (!now.what.starts_with("waiting")) return;
                            is_waiting = true;
                            if (!leaves) held_step = std::chrono::seconds(60);
                          },
                      .has_left = [&] { return leaves && is_waiting; }});
  };
  CHECK(ask(true).figures.error == "the client disconnected");
  CHECK(ask(false).figures.error == "the request took longer than 100 s: send it in parts");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::minutes(1));
  sqlite3_close(writer);
  held_step = std::chrono::milliseconds(0);
  CHECK(world.say_as("i", kPushCard + file("one")).empty());
}

TEST_CASE("a commit that has begun is completed") {
  SlowWorld world(std::chrono::milliseconds(150));
  world.options.max_time = std::chrono::hours(24);
  bool is_committing = false;
  const std::string body = login("i", secret_of("i", "pw"), kPushCard + file("one"));
  // This push needs so little derivation that the session does not check the client again before
  // the commit.
  const Reply reply = world.ask({.body = body,
                                 .on_progress =
                                     [&](const SessionProgress& now) {
                                       if (now.what.starts_with("committing")) is_committing = true;
                                     },
                                 .has_left = [&] { return is_committing; }});
  CHECK(is_committing);
  CHECK(reply.figures.error.empty());
  CHECK(world.value("SELECT count(*) FROM blob") == "2");
}

TEST_CASE("a bound polls the client rarely, and stays exceeded") {
  SessionOptions options;
  options.now = held_now;
  options.max_time = std::chrono::seconds(100);
  held_step = std::chrono::milliseconds(1);
  int checks = 0;
  const std::function<bool()> has_left = [&] { return ++checks == 2; };
  Bound bound(options, has_left);
  for (int i = 0; i < 150; ++i) CHECK_FALSE(bound.is_over());
  CHECK(checks == 1);
  while (!bound.is_over()) REQUIRE(checks <= 2);
  CHECK(checks == 2);
  CHECK(bound.is_over());
  CHECK(checks == 2);
  CHECK(bound.check().error().message == "the client disconnected");
  CHECK_FALSE(bound.is_near());
}
