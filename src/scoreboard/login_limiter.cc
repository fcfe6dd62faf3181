#include "quarry/scoreboard/login_limiter.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "quarry/base/network.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {
namespace {

constexpr Tick kFailuresLast = 600 * kTicksPerSecond;
constexpr Tick kKnownFor = 30 * 24 * 3600 * kTicksPerSecond;
constexpr std::uint32_t kLongestPause = 60;  // seconds
constexpr Tick kUserInterval = 20 * kTicksPerSecond;
constexpr Tick kAddressInterval = 10 * kTicksPerSecond;

Tick time_since(Tick time, Tick now) {
  return now > time ? now - time : 0;
}

std::chrono::seconds rounded_up(Tick wait) {
  return std::chrono::seconds((wait + kTicksPerSecond - 1) / kTicksPerSecond);
}

/// Returns the canonical path of NAME, because a repository can have several names.
std::string file_of(std::string_view name) {
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(name, error);
  return error ? std::string(name) : path.string();
}

}  // namespace

LoginLimiter::LoginLimiter(LoginMemory& memory, std::uint64_t free_failures)
    : memory_(memory),
      free_failures_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(free_failures, 1, 250))),
      users_(memory.users, kUserInterval, user_tokens() + 1, kKnownFor),
      addresses_(memory.addresses, kAddressInterval, address_tokens(), kKnownFor),
      known_pairs_(memory.known_pairs, 0, 0, kFailuresLast),
      other_pairs_(memory.other_pairs, 0, 0, kFailuresLast) {}

TableKey LoginLimiter::key_of(std::string_view kind, std::string_view text) const {
  const std::array<std::uint64_t, 2> salt{memory_.salt[0].load(std::memory_order_relaxed),
                                          memory_.salt[1].load(std::memory_order_relaxed)};
  std::string bytes(kind);
  bytes += text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  std::size_t size = 0;
  TableKey key = 0;
  if (EVP_Q_mac(nullptr, "SIPHASH", nullptr, nullptr, nullptr, salt.data(), sizeof salt,
                reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
                out.size(), &size) == nullptr ||
      size < sizeof key) {
    throw std::runtime_error("OpenSSL does not support SIPHASH");
  }
  std::memcpy(&key, out.data(), sizeof key);
  return key;
}

Tick LoginLimiter::now() {
  return static_cast<Tick>(monotonic_micros() * kTicksPerSecond / 1'000'000);
}

LoginLimiter::Attempt LoginLimiter::attempt_of(std::string_view repository, std::string_view user,
                                               std::string_view address) const {
  // Include the repository, because users with the same name in two repositories might be different
  // people.
  std::string account = file_of(repository);
  account += '\0';
  account += user;
  const std::string network = base::network_of(address);
  Attempt attempt;
  attempt.user = key_of("user ", account);
  attempt.address = key_of("address ", network);
  attempt.pair = key_of("pair ", account + '\0' + network);
  // Put all known pairs of a user into one set. The logins of a user can then evict known pairs in
  // this set only.
  attempt.known_pair =
      attempt.pair - attempt.pair % TokenTable::kSets + attempt.user % TokenTable::kSets;
  return attempt;
}

LoginLimiter::Attempt LoginLimiter::attempt_of(std::string_view address) const {
  const std::string network = base::network_of(address);
  Attempt attempt;
  attempt.address = key_of("address ", network);
  attempt.pair = key_of("unknown user ", network);
  attempt.has_user = false;
  return attempt;
}

template <typename Change>
void LoginLimiter::update_pair(const Attempt& attempt, Tick now, Change change) {
  if (attempt.is_known) {
    known_pairs_.update(attempt.known_pair, now, change);
  } else {
    other_pairs_.update(attempt.pair, now, change);
  }
}

Tick LoginLimiter::wait_for_user(const Attempt& attempt, Tick now) {
  const Tick first_refused = other_pairs_.find(attempt.pair, now).time;
  const Tick waited = first_refused == 0 ? 0 : time_since(first_refused, now);
  if (waited >= kUserInterval) return users_.wait(attempt.user, user_tokens() + 1, now);
  const Tick wait = users_.wait(attempt.user, user_tokens(), now);
  if (wait == 0) return 0;
  other_pairs_.update(attempt.pair, now, [now](Tally tally) {
    return tally.time == 0 ? Tally{0, now} : tally;
  });
  return std::max(wait, kUserInterval - waited);
}

/// Returns how long the pair (user and network) has to wait. If the pair does not have to wait, but
/// has used all its free failures, counts the attempt.
Tick LoginLimiter::wait_for_pair(Attempt& attempt, Tick now) {
  Tick wait = 0;
  update_pair(attempt, now, [&](Tally failures) {
    attempt.pair_before = failures;
    attempt.is_counted_for_pair = false;
    wait = 0;
    if (failures.count < free_failures_) return failures;
    const std::uint32_t doublings = std::min(failures.count - free_failures_, 10U);
    const Tick pause = std::min(kLongestPause, 1U << doublings) * kTicksPerSecond;
    wait = pause - std::min(pause, time_since(failures.time, now));
    attempt.is_counted_for_pair = wait == 0;
    return wait > 0 ? failures : Tally{failures.count + 1, now};
  });
  return wait;
}

std::chrono::seconds LoginLimiter::wait(Attempt& attempt, Tick now) {
  if (!attempt.has_user) return rounded_up(wait_for_pair(attempt, now));
  const Tick last = known_pairs_.find(attempt.known_pair, now).time;
  attempt.is_known = last != 0 && time_since(last, now) <= kKnownFor;
  if (attempt.is_known) return rounded_up(wait_for_pair(attempt, now));
  Tick wait = std::max(wait_for_user(attempt, now),
                       addresses_.wait(attempt.address, address_tokens(), now));
  if (wait == 0) wait = wait_for_pair(attempt, now);
  if (wait > 0) return rounded_up(wait);
  attempt.is_counted_for_user = users_.wait(attempt.user, free_failures_, now) > 0;
  if (attempt.is_counted_for_user) users_.spend(attempt.user, now);
  attempt.is_counted_for_address = addresses_.wait(attempt.address, free_failures_, now) > 0;
  if (attempt.is_counted_for_address) addresses_.spend(attempt.address, now);
  return std::chrono::seconds(0);
}

void LoginLimiter::failed(const Attempt& attempt, Tick now) {
  if (!attempt.is_counted_for_pair) {
    update_pair(attempt, now, [now](Tally failures) { return Tally{failures.count + 1, now}; });
  }
  if (attempt.is_known) return;
  if (attempt.has_user && !attempt.is_counted_for_user) users_.spend(attempt.user, now);
  if (!attempt.is_counted_for_address) addresses_.spend(attempt.address, now);
}

void LoginLimiter::give_back(const Attempt& attempt, Tick now) {
  if (attempt.is_counted_for_user) users_.give_back(attempt.user, now);
  if (attempt.is_counted_for_address) addresses_.give_back(attempt.address, now);
}

void LoginLimiter::unchecked(const Attempt& attempt, Tick now) {
  give_back(attempt, now);
  if (!attempt.is_counted_for_pair) return;
  update_pair(attempt, now, [&](Tally failures) {
    return failures.count == attempt.pair_before.count + 1 ? attempt.pair_before : failures;
  });
}

void LoginLimiter::succeeded(const Attempt& attempt, Tick now) {
  give_back(attempt, now);
  users_.update(attempt.user, now, [now](Tally user) {
    return Tally{1, std::max(user.time, now)};
  });
  known_pairs_.update(attempt.known_pair, now, [now](Tally) { return Tally{0, now}; });
  other_pairs_.update(attempt.pair, now, [](Tally failures) { return Tally{0, failures.time}; });
}

}  // namespace quarry::scoreboard
