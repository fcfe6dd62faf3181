#include "stream_health.h"

#include <cstdlib>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::replica {
namespace {

using base::LogLevel;

// Time to connect after the start. After this, a failure is logged, and publications fail at once.
constexpr std::chrono::seconds kStartTime{3};
// Difference of clocks that is logged, in milliseconds.
constexpr std::int64_t kMaxClockDifference = 60'000;
constexpr const char* kNoServer = "no server of the stream answers";

}  // namespace

Result<void> StreamHealth::check() const {
  const std::lock_guard lock(mutex_);
  if (!state_.is_connected) return fail(ErrorCode::kBusy, state_.error);
  if (!stream_.is_connected()) return fail(ErrorCode::kBusy, kNoServer);
  return {};
}

bool StreamHealth::is_starting() const {
  const std::lock_guard lock(mutex_);
  return state_.range.created == 0 && std::chrono::steady_clock::now() < start_ + kStartTime;
}

void StreamHealth::failed(const Error& error) {
  const std::lock_guard lock(mutex_);
  state_.is_connected = false;
  state_.error = error.message;
  if (is_failure_logged_ || std::chrono::steady_clock::now() < start_ + kStartTime) return;
  is_failure_logged_ = true;
  base::log(LogLevel::kWarning, "cannot use the stream: {}; retrying", error.message);
}

void StreamHealth::refresh() {
  const Result<StreamRange> range =
      stream_.is_connected() ? stream_.range() : fail(ErrorCode::kBusy, kNoServer);
  if (!range) return failed(range.error());
  {
    const std::lock_guard lock(mutex_);
    state_.range = *range;
    if (std::exchange(state_.is_connected, true)) return;
    state_.error.clear();
    is_failure_logged_ = false;
    base::log(LogLevel::kNotice, "connected to the stream, which has the messages {} to {}",
              range->first, range->last);
  }
  on_back_();
}

void StreamHealth::published(std::uint64_t sequence, base::UnixMillis sent,
                             base::UnixMillis answered) {
  const std::lock_guard lock(mutex_);
  published_ = {sequence, sent, answered};
  compare_clocks();
}

void StreamHealth::stored(std::uint64_t sequence, base::UnixMillis stored) {
  const std::lock_guard lock(mutex_);
  stored_ = {sequence, stored};
  compare_clocks();
}

/// Either of the two calls for a message can be the first. mutex_ must be locked.
void StreamHealth::compare_clocks() {
  if (published_.sequence != stored_.sequence) return;
  std::int64_t difference = 0;
  if (stored_.time < published_.sent) difference = published_.sent.value - stored_.time.value;
  if (stored_.time > published_.answered)
    difference = published_.answered.value - stored_.time.value;
  state_.clock_difference = difference;
  const bool is_large = std::abs(difference) >= kMaxClockDifference;
  if (is_large && !is_clock_logged_) {
    base::log(LogLevel::kWarning,
              "the clock of this host is {} seconds {} that of the NATS servers",
              std::abs(difference) / 1000, difference > 0 ? "ahead of" : "behind");
  }
  is_clock_logged_ = is_large;
}

StreamHealth::State StreamHealth::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace quarry::replica
