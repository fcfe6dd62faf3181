#include "quarry/scoreboard/login_limiter.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace quarry::scoreboard;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kFree = 5;
const std::string kHome = "192.0.2.1";
const std::string kAway = "203.0.113.9";
constexpr Tick kMinute = 60 * kTicksPerSecond;

/// A login limiter with a clock that only the test advances.
struct Pool {
  seconds attempt(std::string_view user, std::string_view address, bool is_right) {
    LoginLimiter::Attempt attempt = limiter.attempt_of("repository", user, address);
    const seconds wait = limiter.wait(attempt, now);
    if (wait.count() > 0) return wait;
    if (is_right) {
      limiter.succeeded(attempt, now);
    } else {
      limiter.failed(attempt, now);
      ++checked;
    }
    return seconds(0);
  }
  seconds guess(std::string_view user, std::string_view address) {
    return attempt(user, address, false);
  }
  bool lets_in(std::string_view user, std::string_view address) {
    return attempt(user, address, true).count() == 0;
  }
  /// Makes COUNT guesses and returns the number of passwords that are checked. If ADDRESS is empty,
  /// each guess comes from a new network.
  std::size_t checked_of(int count, std::string_view user, std::string_view address = {}) {
    const std::size_t before = checked;
    for (int i = 0; i < count; ++i) guess(user, address.empty() ? new_network() : address);
    return checked - before;
  }
  /// Returns an IPv6 address in an unused /64 network.
  std::string new_network() {
    ++networks;
    return fmt::format("2001:db8:{:x}:{:x}::1", networks >> 16U, networks & 0xffffU);
  }

  std::unique_ptr<LoginMemory> memory = std::make_unique<LoginMemory>();
  LoginLimiter limiter{*memory, kFree};
  Tick now = 1'000'000;
  std::size_t checked = 0;  // number of checked guesses
  std::uint32_t networks = 0;
};

}  // namespace

TEST_CASE_FIXTURE(Pool,
                  "a flood of names and networks buys no guess, and known pairs still log in" *
                      doctest::test_suite("long")) {
  CHECK(lets_in("owner", kHome));
  CHECK(checked_of(10, "owner", kHome) == 5);
  CHECK(checked_of(100, "victim") == 15);
  for (int i = 0; i < 100; ++i) guess(fmt::format("name{}", i), kAway);
  CHECK(checked_of(1, "one-more", kAway) == 0);
  CHECK(lets_in("member", kHome));

  for (int i = 0; i < 1'000'000; ++i) {
    guess(fmt::format("flood{}", i), new_network());
    if (i % 2500 == 0) ++now;
  }
  CHECK(checked > 1'000'000);
  // After 50 s, the user has two new tokens, the address has five, and the pair of user and
  // address has one new attempt.
  CHECK(checked_of(100, "victim") == 2);
  CHECK(checked_of(10, "owner", kHome) == 1);
  std::size_t before = checked;
  for (int i = 0; i < 100; ++i) guess(fmt::format("more{}", i), kAway);
  CHECK(checked - before == 5);
  CHECK(lets_in("member", kHome));
  CHECK(lets_in("stranger", "203.0.114.1"));
}

TEST_CASE_FIXTURE(Pool, "all names of a repository file count as one repository") {
  const auto user_in = [&](std::string_view repository) {
    return limiter.attempt_of(repository, "ann", kHome).user;
  };
  CHECK(user_in("/nowhere/x/../o.fossil") == user_in("/nowhere/o.fossil"));
  CHECK(user_in("/proc/self/exe") ==
        user_in(std::filesystem::canonical("/proc/self/exe").string()));
  CHECK(user_in("/nowhere/o.fossil") != user_in("/nowhere/p.fossil"));
}

TEST_CASE_FIXTURE(Pool, "names that do not exist get the same replies as users") {
  CHECK(lets_in("owner", kHome));
  for (int i = 0; i < 200; ++i) {
    const std::string network = new_network();
    CHECK(guess("owner", network) == guess("nobody-has-this", network));
    ++now;
  }
}

TEST_CASE_FIXTURE(Pool, "guesses for one user from constantly changing networks are limited") {
  CHECK(lets_in("owner", kHome));
  for (int second = 0; second < 600; ++second) {
    checked_of(50, "owner");
    now += kTicksPerSecond;
    CHECK(lets_in("owner", kHome));
  }
  // The user starts with 15 tokens and gets another token every 20 s.
  CHECK(checked >= 15);
  CHECK(checked <= 15 + 600 / 20);
}

TEST_CASE("the right password gets in from a new address while others guess") {
  for (int start = 200; start < 220; ++start) {
    Pool pool;
    const auto attack_for = [&](seconds time) {
      for (auto left = time.count(); left > 0; --left) {
        pool.checked_of(50, "owner");
        pool.now += kTicksPerSecond;
      }
    };
    attack_for(seconds(start));
    const seconds wait = pool.attempt("owner", kAway, true);
    if (wait.count() == 0) continue;
    CHECK(wait == seconds(20));
    attack_for(wait);
    CHECK(pool.lets_in("owner", kAway));
  }
}

TEST_CASE_FIXTURE(Pool, "guesses for a user from one address do not delay that user elsewhere") {
  for (int second = 0; second < 3600; ++second) {
    guess("owner", "198.51.100.1");
    now += kTicksPerSecond;
  }
  CHECK(checked < 5 + 6 + 60 + 5);
  CHECK(lets_in("owner", kAway));
}

TEST_CASE_FIXTURE(Pool,
                  "an address that guesses at many users has to wait, but not a user known there") {
  CHECK(lets_in("owner", kHome));
  for (int i = 0; i < 1000; ++i) guess(fmt::format("user{}", i), kHome);
  CHECK(checked == 30);
  CHECK_FALSE(lets_in("other", kHome));
  CHECK(lets_in("owner", kHome));
  now += 10 * kTicksPerSecond;
  CHECK(lets_in("other", kHome));
}

TEST_CASE_FIXTURE(Pool, "a user's own correct login does not clear failures for other users") {
  for (int i = 0; i < 1000; ++i) {
    CHECK(lets_in("attacker", kHome));
    guess(fmt::format("user{}", i % 7), kHome);
    guess("victim", kHome);
  }
  CHECK(checked == 30);
}

TEST_CASE_FIXTURE(Pool, "simultaneous logins of one user do not delay each other") {
  std::vector<LoginLimiter::Attempt> attempts(50, limiter.attempt_of("repository", "owner", kHome));
  for (auto& each : attempts) CHECK(limiter.wait(each, now).count() == 0);
  for (auto& each : attempts) limiter.succeeded(each, now);
  for (auto& each : attempts) CHECK(limiter.wait(each, now).count() == 0);
}

TEST_CASE_FIXTURE(Pool,
                  "simultaneous guesses count one by one when the free failures are used up") {
  CHECK(checked_of(5, "owner", kHome) == 5);
  now += kTicksPerSecond;
  std::size_t passed = 0;
  LoginLimiter::Attempt attempt = limiter.attempt_of("repository", "owner", kHome);
  for (int i = 0; i < 50; ++i) {
    if (limiter.wait(attempt, now).count() == 0) ++passed;
  }
  CHECK(passed == 1);
}

TEST_CASE_FIXTURE(Pool, "failures of users that are not known delay only further ones from there") {
  const auto try_from = [&](std::string_view address) {
    LoginLimiter::Attempt attempt = limiter.attempt_of(address);
    const seconds wait = limiter.wait(attempt, now);
    if (wait.count() == 0) limiter.failed(attempt, now);
    return wait.count();
  };
  for (int i = 0; i < 5; ++i) CHECK(try_from(kHome) == 0);
  CHECK(try_from(kHome) == 1);
  CHECK(try_from(kAway) == 0);
  now += kTicksPerSecond;
  CHECK(try_from(kHome) == 0);
  CHECK(try_from(kHome) == 2);
  // The six failures above also count for the address, which has 24 of its 30 tokens left.
  CHECK(checked_of(5, "one", kHome) + checked_of(5, "two", kHome) + checked_of(5, "three", kHome) +
            checked_of(5, "four", kHome) + checked_of(5, "five", kHome) ==
        24);
  // An address without failures does not have to wait.
  for (int i = 0; i < 100; ++i) {
    LoginLimiter::Attempt attempt = limiter.attempt_of("203.0.113.77");
    CHECK(limiter.wait(attempt, now).count() == 0);
    limiter.unchecked(attempt, now);
  }
}

TEST_CASE_FIXTURE(Pool, "an attempt with an unknown result does not count") {
  CHECK(checked_of(5, "owner", kHome) == 5);
  const auto try_unchecked = [&](std::string_view address) {
    LoginLimiter::Attempt attempt = limiter.attempt_of("repository", "owner", address);
    const seconds wait = limiter.wait(attempt, now);
    if (wait.count() == 0) limiter.unchecked(attempt, now);
    return wait.count();
  };
  CHECK(try_unchecked(kHome) == 1);
  now += kTicksPerSecond;
  for (int i = 0; i < 100; ++i) CHECK(try_unchecked(kHome) == 0);
  // An unchecked attempt does not reset the failures of the pair.
  CHECK(guess("owner", kHome).count() == 0);
  CHECK(try_unchecked(kHome) == 2);
  for (int i = 0; i < 100; ++i) CHECK(try_unchecked(kAway) == 0);
  CHECK(guess("owner", kAway).count() == 0);
}

TEST_CASE_FIXTURE(Pool,
                  "the wait of a pair doubles, and its failures expire long before its success") {
  CHECK(checked_of(5, "owner", kHome) == 5);
  for (const int pause : {1, 2, 4, 8}) {
    CHECK(guess("owner", kHome) == seconds(pause));
    now += static_cast<Tick>(pause) * kTicksPerSecond;
    CHECK(guess("owner", kHome) == seconds(0));
  }
  now += 10 * kMinute;
  CHECK(checked_of(10, "owner", kHome) == 5);
  now += kMinute;
  CHECK(lets_in("owner", kHome));
  for (const int days : {20, 20}) {
    now += static_cast<Tick>(days * 24 * 60) * kMinute;
    checked_of(1000, "owner");
    CHECK(lets_in("owner", kHome));
  }
  now += 31U * 24 * 60 * kMinute;
  checked_of(1000, "owner");
  CHECK(checked_of(10, "owner", kHome) == 1);
}

TEST_CASE_FIXTURE(Pool, "logins of one user from everywhere evict only that user's pairs") {
  CHECK(lets_in("owner", kHome));
  for (int i = 0; i < 10'000; ++i) CHECK(lets_in("member", new_network()));
  CHECK(checked_of(100, "owner") == 15);
  CHECK(lets_in("owner", kHome));
}

TEST_CASE_FIXTURE(Pool, "with random bytes in the memory, a login waits for a limited time") {
  std::mt19937_64 random(7);
  auto* const words = reinterpret_cast<std::uint64_t*>(memory.get());
  for (std::size_t i = 0; i < sizeof(LoginMemory) / sizeof *words; ++i) words[i] = random();
  for (int i = 0; i < 200; ++i) {
    const std::string user = fmt::format("user{}", i);
    for (int tries = 0;; ++tries) {
      REQUIRE(tries < 10);
      const seconds wait = attempt(user, kHome, true);
      if (wait.count() == 0) break;
      REQUIRE(wait <= seconds(1200));
      now += static_cast<Tick>(wait.count()) * kTicksPerSecond;
    }
  }
}
