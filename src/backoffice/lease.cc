#include "quarry/backoffice/lease.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "quarry/base/number.h"

namespace quarry::backoffice {
namespace {

// Maximum time until the end of a lease, in seconds. If a lease ends later, the clock was set back
// or the row is invalid, so the lease counts as expired.
constexpr std::int64_t kMaxLease = 3600;

bool lasts(std::int64_t until, const Candidate& candidate) {
  const std::int64_t longest = std::max(kMaxLease, 3 * candidate.lease_time.count());
  return until > candidate.now && until - candidate.now <= longest;
}

bool is_current_over(const Lease& lease, const Candidate& candidate) {
  if (lease.current == 0 && lease.current_until == 0) return true;
  return !lasts(lease.current_until, candidate) &&
         (candidate.current != Holder::kAlive || lease.current == candidate.self);
}

bool has_other_next(const Lease& lease, const Candidate& candidate) {
  return lease.next != 0 && lease.next != candidate.self && candidate.next != Holder::kGone &&
         lasts(lease.next_until, candidate);
}

}  // namespace

Lease Lease::parse(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  for (std::int64_t& number : numbers) {
    number = std::max<std::int64_t>(base::take_number<std::int64_t>(text).value_or(0), 0);
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::string Lease::text() const {
  return fmt::format("{} {} {} {}", current, current_until, next, next_until);
}

Decision decide(const Lease& lease, const Candidate& candidate) {
  if (has_other_next(lease, candidate)) return {};
  const std::int64_t time = candidate.lease_time.count();
  if (is_current_over(lease, candidate)) {
    return {Turn::kRun, Lease{candidate.self, candidate.now + time, 0, 0}, {}};
  }
  if (!candidate.may_wait) return {};
  // If the lease has expired but its holder is still running, check again after a second.
  const std::int64_t until = std::max(lease.current_until, candidate.now + 1);
  Lease wanted = lease;
  wanted.next = candidate.self;
  wanted.next_until = until + time;
  return {Turn::kWait, wanted, std::chrono::seconds(until - candidate.now)};
}

}  // namespace quarry::backoffice
