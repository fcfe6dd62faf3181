#include "bound.h"

#include <fmt/core.h>

#include "quarry/base/duration.h"

namespace quarry::sync {
namespace {

using std::chrono::milliseconds;

// Minimum time between two checks of the client's connection, because each check takes a system
// call.
constexpr milliseconds kPollInterval{100};

}  // namespace

Bound::Bound(const SessionOptions& options, const std::function<bool()>& has_left)
    : options_(options),
      has_left_(has_left),
      began_(options.now()),
      next_poll_(began_ + kPollInterval) {}

bool Bound::is_over() {
  if (state_ != State::kGoing) return true;
  const Time now = options_.now();
  if (now - began_ > options_.max_time) {
    state_ = State::kLate;
  } else if (has_left_ && now >= next_poll_) {
    next_poll_ = now + kPollInterval;
    if (has_left_()) state_ = State::kLeft;
  }
  return state_ != State::kGoing;
}

bool Bound::is_near() const {
  return options_.now() - began_ > options_.max_time * 3 / 4;
}

Result<void> Bound::check() {
  if (is_over()) return std::unexpected(error());
  return {};
}

Error Bound::error() const {
  if (state_ == State::kLeft) return {ErrorCode::kLimit, "the client disconnected"};
  return {ErrorCode::kLimit, fmt::format("the request took longer than {}: send it in parts",
                                         base::in_words(options_.max_time))};
}

}  // namespace quarry::sync
