#include "admission.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

namespace quarry::worker {
namespace {

using scoreboard::LoginTally;
using scoreboard::SlotState;
using std::chrono::seconds;

// How long failures, and who has logged in, are remembered.
constexpr std::int64_t kMemoryMicros = std::int64_t{600} * 1'000'000;
constexpr std::uint64_t kLongestWait = 60;  // seconds
// How much more patience there is with failures of one user from everywhere, and of everybody from
// one address.
constexpr std::uint64_t kPatienceWithUser = 3;
constexpr std::uint64_t kPatienceWithAddress = 6;

// Never 0, which stands for nothing.
std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>()(text) | 1U;
}

/// Who has one address of IPv6 has all of its network.
std::string source_of(const std::string& address) {
  constexpr std::size_t kNetwork = 8;  // bytes: a /64
  std::array<char, sizeof(in6_addr)> bytes{};
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  const std::string_view whole(bytes.data(), bytes.size());
  return std::string(whole.starts_with(kMapped) ? whole : whole.substr(0, kNetwork));
}

bool is_recent(std::int64_t time, std::int64_t now) {
  return time > 0 && time <= now && now - time < kMemoryMicros;
}

struct Failures {
  std::uint64_t count = 0;
  std::int64_t last = 0;

  void add(const LoginTally& tally) {
    count += std::min<std::uint64_t>(tally.failures, 1000);
    last = std::max(last, tally.failed);
  }
  /// Seconds from SINCE until another try is looked at, where the first ALLOWED cost nothing.
  std::uint64_t wait(std::uint64_t allowed, std::int64_t since, std::int64_t now) const {
    if (count < allowed || since == 0) return 0;
    const std::uint64_t doublings = std::min<std::uint64_t>(count - allowed, 10);
    const std::uint64_t pause = std::min(kLongestWait, std::uint64_t{1} << doublings);
    const auto passed = static_cast<std::uint64_t>(now - since) / 1'000'000;
    return pause - std::min(pause, passed);
  }
};

}  // namespace

Admission::Admission(const AdmissionOptions& options, const scoreboard::Board& board,
                     scoreboard::Slot& slot, std::string_view address)
    : options_(options), board_(board), slot_(slot), address_(address) {}

std::optional<std::string> Admission::begin() {
  slot_.session_begins(address_);
  if (options_.max_concurrent == 0 && options_.max_concurrent_per_address == 0) return std::nullopt;
  const SlotState& own = slot_.state();
  std::uint64_t of_repository = 0;
  std::uint64_t of_address = 0;
  for (std::size_t i = 0; i < board_.slot_count(); ++i) {
    const SlotState other = board_.read(i).state;
    const bool is_before = other.session_began < own.session_began ||
                           (other.session_began == own.session_began && other.pid < own.pid);
    if (other.session_began == 0 || other.pid == own.pid || !is_before) continue;
    if (other.repository.view() == own.repository.view()) ++of_repository;
    if (other.client.view() == own.client.view()) ++of_address;
  }
  const auto is_full = [](std::uint64_t count, std::uint64_t most) {
    return most > 0 && count >= most;
  };
  if (is_full(of_repository, options_.max_concurrent)) {
    return "too many are using this repository now: try again in 5 seconds";
  }
  if (is_full(of_address, options_.max_concurrent_per_address)) {
    return "too many requests from your address at the same time: try again in 5 seconds";
  }
  return std::nullopt;
}

seconds Admission::wait(std::string_view user) {
  if (options_.login_failures == 0) return seconds(0);
  const std::int64_t now = scoreboard::monotonic_micros();
  const std::uint64_t client_hash = hash_of(source_of(address_));
  const std::uint64_t user_hash = hash_of(user);
  Failures of_both;
  Failures of_user;
  Failures of_address;
  last_success_ = 0;
  const auto for_each = [&](auto visit) {
    for (std::size_t i = 0; i < board_.slot_count(); ++i) {
      for (const LoginTally& tally : board_.read_logins(i).tallies) {
        if (tally.client != 0) visit(tally);
      }
    }
  };
  for_each([&](const LoginTally& tally) {
    if (tally.client != client_hash || tally.user != user_hash) return;
    if (is_recent(tally.succeeded, now)) last_success_ = std::max(last_success_, tally.succeeded);
  });
  for_each([&](const LoginTally& tally) {
    if (!is_recent(tally.failed, now)) return;
    const bool is_from_here = tally.client == client_hash;
    const bool is_users = tally.user == user_hash;
    if (is_from_here && is_users && tally.failed > last_success_) of_both.add(tally);
    if (is_users) of_user.add(tally);
    if (is_from_here) of_address.add(tally);
  });
  const std::uint64_t allowed = options_.login_failures;
  std::uint64_t wait = of_both.wait(allowed, of_both.last, now);
  if (last_success_ == 0) {
    // By whoever goes on failing elsewhere nobody is held up who does not fail himself.
    wait = std::max({wait, of_user.wait(kPatienceWithUser * allowed, of_both.last, now),
                     of_address.wait(kPatienceWithAddress * allowed, of_address.last, now)});
  }
  return seconds(wait);
}

void Admission::tell(std::string_view user, bool succeeded) {
  if (options_.login_failures == 0) return;
  const std::int64_t now = scoreboard::monotonic_micros();
  LoginTally tally{.client = hash_of(source_of(address_)), .user = hash_of(user)};
  if (const LoginTally* known = slot_.remembered(tally)) tally = *known;
  if (succeeded) {
    tally.failures = 0;
    tally.succeeded = now;
  } else {
    // Another worker may have seen him succeed since.
    if (!is_recent(tally.failed, now) || tally.failed < last_success_) tally.failures = 0;
    ++tally.failures;
    tally.failed = now;
  }
  slot_.remember(tally);
}

}  // namespace quarry::worker
