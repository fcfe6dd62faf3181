#include "quarry/scoreboard/login_book.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "quarry/base/network.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::scoreboard {
namespace {

constexpr auto kUnordered = std::memory_order_relaxed;

// A pair's failures are forgotten so long after the last, and its success after this.
constexpr Tick kMemory = 600 * kTicksPerSecond;
constexpr Tick kKnown = 30 * 24 * 3600 * kTicksPerSecond;
constexpr std::uint32_t kLongestPause = 60;  // seconds

// How much more patience there is with failures of one user from everywhere, and of everybody from
// one address; how fast each is forgotten; and how many more are counted, which bounds how long
// that takes.
constexpr std::uint32_t kPatienceWithUser = 3;
constexpr std::uint32_t kPatienceWithAddress = 6;
constexpr Tick kUserInterval = 20 * kTicksPerSecond;
constexpr Tick kAddressInterval = 10 * kTicksPerSecond;
constexpr std::uint32_t kMoreOfUser = 15;
constexpr std::uint32_t kMoreOfAddress = 60;

// Classes of networks, each of which has a turn at a user under attack in this time.
constexpr LoginKey kClasses = 32;
constexpr Tick kTurn = 64 * kTicksPerSecond;
constexpr Tick kClassesChange = 512 * kTicksPerSecond;

Tick pause_after(std::uint32_t failures, std::uint32_t allowed) {
  const std::uint32_t doublings = std::min(failures - allowed, 10U);
  return std::min(kLongestPause, std::uint32_t{1} << doublings) * kTicksPerSecond;
}

Failures recent(Failures failures, Tick now) {
  const bool is_recent = failures.last <= now && now - failures.last < kMemory;
  return is_recent ? failures : Failures{};
}

Tick wait_after(const Failures& failures, std::uint32_t allowed, Tick now) {
  if (failures.count < allowed) return 0;
  const Tick pause = pause_after(failures.count, allowed);
  const Tick passed = now - failures.last;
  return pause - std::min(pause, passed);
}

void count_failure(std::atomic<std::uint64_t>& word, LoginKey pair, Tick now) {
  std::uint64_t known = word.load(kUnordered);
  std::uint64_t next = 0;
  do {
    next = word_of({recent(failures_in(known, pair), now).count + 1, now}, pair);
  } while (!word.compare_exchange_weak(known, next, kUnordered));
}

/// How long TRIED, whose pair's failures are in WORD, has to wait. Where it need not although it has
/// used up what is ALLOWED, it is counted, and says so.
Tick wait_for_pair(std::atomic<std::uint64_t>& word, std::uint32_t allowed, Tick now,
                   LoginBook::Try& tried) {
  const LoginKey pair = tried.pair;
  std::uint64_t known = word.load(kUnordered);
  while (true) {
    const Failures failures = recent(failures_in(known, pair), now);
    if (failures.count < allowed) return 0;
    if (const Tick wait = wait_after(failures, allowed, now); wait > 0) return wait;
    const std::uint64_t next = word_of({failures.count + 1, now}, pair);
    tried.counts_for_pair = word.compare_exchange_weak(known, next, kUnordered);
    if (!tried.counts_for_pair) continue;
    tried.pair_before = known;
    tried.pair_counted = next;
    return 0;
  }
}

std::chrono::seconds rounded_up(Tick wait) {
  return std::chrono::seconds((wait + kTicksPerSecond - 1) / kTicksPerSecond);
}

}  // namespace

LoginBook::LoginBook(LoginMemory& memory, std::uint64_t allowed)
    : memory_(memory),
      allowed_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(allowed, 1, 250))),
      users_(memory.users, kUserInterval, kPatienceWithUser * allowed_ + kMoreOfUser),
      addresses_(memory.addresses, kAddressInterval,
                 kPatienceWithAddress * allowed_ + kMoreOfAddress),
      turns_(memory.turns, kTurn, 1),
      asked_(memory.asked),
      known_(memory.known),
      failed_(memory.failed) {}

LoginKey LoginBook::key_of(std::string_view kind, std::string_view text) const {
  std::array<unsigned char, 16> salt{};
  for (std::size_t i = 0; i < memory_.salt.size(); ++i) {
    const std::uint64_t word = memory_.salt[i].load(kUnordered);
    std::memcpy(salt.data() + i * sizeof word, &word, sizeof word);
  }
  std::string bytes(kind);
  bytes += text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  std::size_t size = 0;
  if (EVP_Q_mac(nullptr, "SIPHASH", nullptr, nullptr, nullptr, salt.data(), salt.size(),
                reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
                out.size(), &size) == nullptr ||
      size < sizeof(LoginKey)) {
    throw std::runtime_error("OpenSSL has no SIPHASH");
  }
  LoginKey key = 0;
  std::memcpy(&key, out.data(), sizeof key);
  return key;
}

Tick LoginBook::now() {
  return static_cast<Tick>(monotonic_micros() * kTicksPerSecond / 1'000'000);
}

LoginBook::Try LoginBook::try_of(std::string_view repository, std::string_view user,
                                 std::string_view address) const {
  // Of the same name in two repositories one may be anybody: his right password says nothing of the
  // other.
  std::string account(repository);
  account += '\0';
  account += user;
  Try tried;
  tried.user = key_of("user ", account);
  tried.address = key_of("address ", base::network_of(address));
  tried.pair = mixed(tried.user, tried.address);
  tried.wide_network = key_of("network ", base::wide_network_of(address));
  return tried;
}

bool LoginBook::is_under_attack(const Try& tried, Tick now) const {
  return users_.until_room(tried.user, now, kPatienceWithUser * allowed_) > 0;
}

LoginKey LoginBook::turn_of(const Try& tried, Tick now) const {
  return mixed(tried.user, mixed(tried.wide_network, now / kClassesChange) % kClasses);
}

Tick LoginBook::wait_for_turn(const Try& tried, Tick now) {
  const LoginKey turn = turn_of(tried, now);
  const bool is_contended = asked_.is_noted(turn, now);
  const bool has_waited = asked_.was_noted(tried.pair, now);
  asked_.note(turn, now);
  const Tick left = turns_.drains_in(turn, now);
  if (left == 0 && (has_waited || !is_contended)) return 0;
  asked_.note(tried.pair, now);
  return has_waited ? left : std::max(left, RecentKeys::until_period_ends(now));
}

std::atomic<std::uint64_t>* LoginBook::known_failures(const Try& tried, Tick now) {
  return known_.failures_of(tried.user, tried.pair, now, kKnown);
}

std::chrono::seconds LoginBook::wait(Try& tried, Tick now) {
  if (auto* failures = known_failures(tried, now)) {
    return rounded_up(wait_for_pair(*failures, allowed_, now, tried));
  }
  const bool is_under_attack = this->is_under_attack(tried, now);
  const Tick turn = is_under_attack ? wait_for_turn(tried, now) : 0;
  const Tick wait =
      std::max(turn, addresses_.until_room(tried.address, now, kPatienceWithAddress * allowed_));
  if (wait > 0) return rounded_up(wait);
  const Tick own = wait_for_pair(failed_.failures_of(tried.pair), allowed_, now, tried);
  if (own > 0) return rounded_up(own);
  tried.counts_for_address = addresses_.until_room(tried.address, now, allowed_) > 0;
  if (tried.counts_for_address) addresses_.add(tried.address, now);
  tried.counts_for_user = users_.until_room(tried.user, now, allowed_) > 0;
  if (tried.counts_for_user) users_.add(tried.user, now);
  if (is_under_attack) turns_.add(turn_of(tried, now), now);
  return std::chrono::seconds(0);
}

void LoginBook::failed(const Try& tried, Tick now) {
  auto* failures = known_failures(tried, now);
  const bool is_known = failures != nullptr;
  if (!is_known) failures = &failed_.failures_of(tried.pair);
  if (!tried.counts_for_pair) count_failure(*failures, tried.pair, now);
  if (is_known) return;
  if (!tried.counts_for_address) addresses_.add(tried.address, now);
  if (!tried.counts_for_user) users_.add(tried.user, now);
}

void LoginBook::take_back(const Try& tried, Tick now) {
  if (tried.counts_for_address) addresses_.take_back(tried.address, now);
  if (tried.counts_for_user) users_.take_back(tried.user, now);
}

void LoginBook::passed_by(const Try& tried, Tick now) {
  take_back(tried, now);
  if (!tried.counts_for_pair) return;
  auto* failures = known_failures(tried, now);
  if (failures == nullptr) failures = &failed_.failures_of(tried.pair);
  std::uint64_t counted = tried.pair_counted;
  failures->compare_exchange_strong(counted, tried.pair_before, kUnordered);
}

void LoginBook::succeeded(const Try& tried, Tick now) {
  take_back(tried, now);
  if (known_failures(tried, now) == nullptr) {
    auto& failures = failed_.failures_of(tried.pair);
    std::uint64_t word = failures.load(kUnordered);
    if (failures_in(word, tried.pair).count > 0) {
      failures.compare_exchange_strong(word, 0, kUnordered);
    }
  }
  known_.succeed(tried.user, tried.pair, now);
}

}  // namespace quarry::scoreboard
