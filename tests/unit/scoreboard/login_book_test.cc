#include "quarry/scoreboard/login_book.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <memory>
#include <random>
#include <string>

using namespace quarry::scoreboard;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kAllowed = 5;
const std::string kHome = "192.0.2.1";
constexpr Tick kMinute = 60 * kTicksPerSecond;

/// A pool's logins, at a time that stands still until it is moved.
struct Pool {
  explicit Pool(std::uint64_t allowed = kAllowed, std::uint64_t salt = 1) : book(*memory, allowed) {
    memory->salt[0].store(salt);
  }

  /// What USER at ADDRESS is told; where he need not wait, his password is right or not.
  seconds attempt(std::string_view user, std::string_view address, bool is_right) {
    LoginBook::Try tried = book.try_of("repository", user, address);
    const seconds wait = book.wait(tried, now);
    if (wait.count() > 0) return wait;
    if (is_right) {
      book.succeeded(tried, now);
    } else {
      book.failed(tried, now);
      ++looked_at;
    }
    return seconds(0);
  }
  seconds guess(std::string_view user, std::string_view address) {
    return attempt(user, address, false);
  }
  bool lets_in(std::string_view user, std::string_view address) {
    return attempt(user, address, true).count() == 0;
  }

  std::unique_ptr<LoginMemory> memory = std::make_unique<LoginMemory>();
  LoginBook book;
  Tick now = 1'000'000;
  std::size_t looked_at = 0;  // guesses that were not refused
};

/// Addresses without end, from all over the network, or from one /16.
struct Addresses {
  explicit Addresses(std::string network = "") : prefix(std::move(network)) {}
  std::string next() {
    const auto byte = [this] { return random() % 254 + 1; };
    if (!prefix.empty()) return fmt::format("{}.{}.{}", prefix, byte(), byte());
    return fmt::format("{}.{}.{}.{}", byte(), byte(), byte(), byte());
  }
  std::string prefix;
  std::mt19937 random{1};
};

}  // namespace

TEST_CASE("guesses at one user from ever new addresses are few, and he gets in from where he was") {
  for (const std::string network : {"", "198.51"}) {
    CAPTURE(network);
    Pool pool;
    CHECK(pool.lets_in("owner", kHome));
    Addresses addresses(network);
    for (int second = 0; second < 600; ++second) {
      for (int i = 0; i < 50; ++i) pool.guess("owner", addresses.next());
      pool.now += kTicksPerSecond;
      CHECK(pool.lets_in("owner", kHome));
    }
    // Of 30,000: what costs nothing, a turn of each class, and one more in 20 s.
    CHECK(pool.looked_at >= 15);
    CHECK(pool.looked_at <= 15 + 32 + 600 / 20);
  }
}

TEST_CASE("the right password gets in from a new address while others guess") {
  for (const std::string network : {"", "198.51"}) {
    for (std::uint64_t salt = 1; salt <= 8; ++salt) {
      CAPTURE(network);
      CAPTURE(salt);
      Pool pool(kAllowed, salt);
      Addresses addresses(network);
      const auto attack_for = [&](seconds time) {
        for (auto left = time.count(); left > 0; --left) {
          for (int i = 0; i < 50; ++i) pool.guess("owner", addresses.next());
          pool.now += kTicksPerSecond;
        }
      };
      attack_for(seconds(200));
      seconds waited(0);
      while (true) {
        const seconds wait = pool.attempt("owner", "203.0.113.9", true);
        if (wait.count() == 0) break;
        CHECK(wait <= seconds(64));
        waited += wait;
        attack_for(wait);
      }
      CHECK(waited <= seconds(128));
    }
  }
}

TEST_CASE("guessers who come back wait for their turns too") {
  Pool pool;
  // A thousand addresses in a hundred networks, each as often as it may.
  std::vector<std::string> addresses;
  for (int i = 0; i < 1000; ++i) addresses.push_back(fmt::format("10.{}.0.{}", i % 100, i / 100));
  for (int i = 0; i < 3600; ++i) {
    for (std::size_t each = 0; each < 20; ++each) {
      pool.guess("owner", addresses[(static_cast<std::size_t>(i) * 20 + each) % addresses.size()]);
    }
    pool.now += kTicksPerSecond;
  }
  CHECK(pool.looked_at > 100);
  CHECK(pool.looked_at < 15 + 32 + 3600 / 2 + 100);
}

TEST_CASE("nothing that comes in makes a tally forgotten, or one of another's") {
  Pool pool;
  CHECK(pool.lets_in("owner", kHome));
  for (int i = 0; i < 5; ++i) CHECK(pool.guess("owner", kHome).count() == 0);
  CHECK(pool.guess("owner", kHome).count() > 0);
  Addresses attackers;
  for (int i = 0; i < 15; ++i) CHECK(pool.guess("victim", attackers.next()).count() == 0);
  for (int i = 0; i < 30; ++i) pool.guess(fmt::format("spray{}", i), "203.0.113.1");
  CHECK(pool.guess("spray-on", "203.0.113.1").count() > 0);

  // Two thousand a second for fifty seconds, each under a new name from a new address.
  std::size_t before = pool.looked_at;
  Addresses addresses;
  for (int i = 0; i < 100'000; ++i) {
    pool.guess(fmt::format("junk{}", i), addresses.next());
    if (i % 250 == 0) ++pool.now;
  }
  CHECK(pool.looked_at - before > 99'000);

  CHECK(pool.guess("owner", kHome).count() == 0);
  CHECK(pool.guess("owner", kHome).count() == 2);
  before = pool.looked_at;
  for (int i = 0; i < 1000; ++i) pool.guess("victim", addresses.next());
  CHECK(pool.looked_at - before <= 3 + 32);
  before = pool.looked_at;
  for (int i = 0; i < 100; ++i) pool.guess(fmt::format("more{}", i), "203.0.113.1");
  CHECK(pool.looked_at - before <= 6);
  // And who has nothing to do with it is let in.
  CHECK(pool.lets_in("stranger", "203.0.114.1"));
}

TEST_CASE("one address that guesses at one user does not slow him elsewhere") {
  Pool pool;
  for (int second = 0; second < 3600; ++second) {
    pool.guess("owner", "198.51.100.1");
    pool.now += kTicksPerSecond;
  }
  CHECK(pool.looked_at < 5 + 6 + 60 + 5);
  CHECK(pool.lets_in("owner", "203.0.113.9"));
}

TEST_CASE("an address that guesses at many users has to wait, but not who is known there") {
  Pool pool;
  CHECK(pool.lets_in("owner", kHome));
  for (int i = 0; i < 1000; ++i) pool.guess(fmt::format("user{}", i), kHome);
  CHECK(pool.looked_at == 30);
  CHECK_FALSE(pool.lets_in("other", kHome));
  CHECK(pool.lets_in("owner", kHome));
  pool.now += 10 * kTicksPerSecond;
  CHECK(pool.lets_in("other", kHome));
}

TEST_CASE("a right login of one's own does not pay for guesses at others") {
  Pool pool;
  for (int i = 0; i < 1000; ++i) {
    CHECK(pool.lets_in("attacker", kHome));
    pool.guess(fmt::format("user{}", i % 7), kHome);
    pool.guess("victim", kHome);
  }
  CHECK(pool.looked_at == 30);
}

TEST_CASE("many clients of one user that log in at the same time do not hold up each other") {
  Pool pool;
  std::vector<LoginBook::Try> tries(50, pool.book.try_of("repository", "owner", kHome));
  for (LoginBook::Try& each : tries) CHECK(pool.book.wait(each, pool.now).count() == 0);
  for (LoginBook::Try& each : tries) pool.book.succeeded(each, pool.now);
  for (LoginBook::Try& each : tries) CHECK(pool.book.wait(each, pool.now).count() == 0);
}

TEST_CASE("guesses at the same time count as many, once there were enough") {
  Pool pool;
  for (int i = 0; i < 5; ++i) CHECK(pool.guess("owner", kHome).count() == 0);
  pool.now += kTicksPerSecond;
  std::size_t looked_at = 0;
  LoginBook::Try tried = pool.book.try_of("repository", "owner", kHome);
  for (int i = 0; i < 50; ++i)
    if (pool.book.wait(tried, pool.now).count() == 0) ++looked_at;
  CHECK(looked_at == 1);
}

TEST_CASE("a try of which nobody knows what came of it counts as none") {
  Pool pool;
  for (int i = 0; i < 5; ++i) CHECK(pool.guess("owner", kHome).count() == 0);
  const auto pass_by = [&](std::string_view address) {
    LoginBook::Try tried = pool.book.try_of("repository", "owner", address);
    const seconds wait = pool.book.wait(tried, pool.now);
    if (wait.count() == 0) pool.book.passed_by(tried, pool.now);
    return wait.count();
  };
  CHECK(pass_by(kHome) == 1);
  pool.now += kTicksPerSecond;
  for (int i = 0; i < 100; ++i) CHECK(pass_by(kHome) == 0);
  // Nor is the pair known by it, or forgiven.
  CHECK(pool.guess("owner", kHome).count() == 0);
  CHECK(pass_by(kHome) == 2);
  for (int i = 0; i < 100; ++i) CHECK(pass_by("198.51.100.1") == 0);
  CHECK(pool.guess("owner", "198.51.100.1").count() == 0);
}

TEST_CASE("after an attack all is as it was, soon") {
  Pool pool;
  Addresses addresses;
  for (int i = 0; i < 10'000; ++i) pool.guess("owner", addresses.next());
  CHECK(pool.guess("owner", "203.0.113.9").count() > 0);
  pool.now += 10 * kMinute;
  for (int i = 0; i < 15; ++i) CHECK(pool.guess("owner", addresses.next()).count() == 0);
}

TEST_CASE("failures of a pair are forgotten after a while, its success much later") {
  Pool pool;
  for (int i = 0; i < 5; ++i) pool.guess("owner", kHome);
  CHECK(pool.guess("owner", kHome).count() == 1);
  pool.now += 10 * kMinute;
  for (int i = 0; i < 5; ++i) CHECK(pool.guess("owner", kHome).count() == 0);
  pool.now += kMinute;
  CHECK(pool.lets_in("owner", kHome));
  Addresses addresses;
  for (const int days : {20, 20}) {
    pool.now += static_cast<Tick>(days * 24 * 60) * kMinute;
    for (int i = 0; i < 1000; ++i) pool.guess("owner", addresses.next());
    CHECK(pool.lets_in("owner", kHome));
  }
}

TEST_CASE("whatever stands in the memory, a login waits for a bounded time") {
  Pool pool;
  std::mt19937_64 random(7);
  auto* const bytes = reinterpret_cast<std::uint64_t*>(pool.memory.get());
  for (std::size_t i = 0; i < sizeof(LoginMemory) / sizeof *bytes; ++i) bytes[i] = random();
  for (int i = 0; i < 200; ++i) {
    const std::string user = fmt::format("user{}", i);
    for (int tries = 0;; ++tries) {
      REQUIRE(tries < 10);
      const seconds wait = pool.attempt(user, kHome, true);
      if (wait.count() == 0) break;
      REQUIRE(wait <= seconds(1200));
      pool.now += static_cast<Tick>(wait.count()) * kTicksPerSecond;
    }
  }
}
