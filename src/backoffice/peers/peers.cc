#include "quarry/backoffice/peers.h"

#include <algorithm>
#include <bit>

#include "quarry/repository/arrivals.h"
#include "quarry/repository/unversioned.h"
#include "quarry/transport/retry.h"

namespace quarry::backoffice {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;

// Minimum delay after the peer has refused, unless the configured delay is longer.
constexpr milliseconds kRefusedDelay{3'600'000};

milliseconds longest_wait(const PeerOptions& options) {
  return std::max({options.interval, options.retry_max_delay, kRefusedDelay});
}

}  // namespace

milliseconds wait_for_peer(const PeerState& state, const PeerOptions& options,
                           std::string_view mark, base::UnixMillis now) {
  const auto until = [&](std::int64_t time) {
    const milliseconds wait(time - now.value);
    // A time far ahead means that the clock was set back.
    if (wait > longest_wait(options)) return milliseconds(0);
    return std::max(wait, milliseconds(0));
  };
  if (state.failures > 0) return until(state.next);
  if (options.pushes() && state.seen != mark) return milliseconds(0);
  return until(state.tried + options.interval.count());
}

milliseconds wait_after_failure(std::int64_t failures, const base::Error& why,
                                const PeerOptions& options, double random) {
  const bool is_refusal = why.code == ErrorCode::kDenied;
  const transport::RetryOptions retry{
      .tries = 1,
      .first = options.retry_delay,
      .longest = is_refusal ? std::max(options.retry_max_delay, kRefusedDelay)
                            : std::max(options.retry_max_delay, options.retry_delay)};
  constexpr std::int64_t kMaxDoublings = 60;
  return transport::delay_before(
      static_cast<int>(std::clamp<std::int64_t>(failures, 1, kMaxDoublings)), retry, random);
}

bool is_failure_to_log(std::int64_t failures) {
  return failures > 0 && std::has_single_bit(static_cast<std::uint64_t>(failures));
}

bool is_running(const PeerState& state, const ProcessTable& processes, base::UnixMillis now) {
  if (!state.runner) return false;
  const PeerRunner& runner = *state.runner;
  // The state of a process on another host is unknown: it counts until its deadline.
  if (runner.host != processes.host()) return now.value >= runner.since && now.value < runner.until;
  const auto started = processes.started(runner.pid);
  return started && *started == runner.started;
}

base::Result<std::string> mark_of(repository::Repository& repository, bool with_unversioned) {
  QUARRY_TRY_ASSIGN(const auto end, repository::Arrivals(repository).end());
  std::string mark = std::to_string(end.receipt);
  if (with_unversioned) mark += " " + repository.unversioned().hash();
  return mark;
}

}  // namespace quarry::backoffice
