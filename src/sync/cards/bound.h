// Limits the time of a request, and ends it when its client disconnects.
//
// Loops in a session call is_over() from time to time, and so does the repository
// (Repository::bound_by). If a request is over, it changes nothing, and the reply is a single
// error. A reply that may end early, such as that of a clone, ends when is_near() returns true.
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/result.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

class Bound {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The time starts now. HAS_LEFT may be empty, and must outlive this object.
  Bound(const SessionOptions& options, const std::function<bool()>& has_left);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Time now() const { return options_.now(); }
  /// Whether the time is up or the client has disconnected; once true, it stays true. Costs about
  /// as much as reading the clock.
  bool is_over();
  /// Whether so much time has passed that a reply should be finished.
  bool is_near() const;
  /// Returns kLimit if is_over().
  base::Result<void> check();
  /// The error for the client and the log. Call after is_over() returned true.
  base::Error error() const;

 private:
  enum class State { kGoing, kLate, kLeft };

  const SessionOptions& options_;
  const std::function<bool()>& has_left_;
  Time began_;
  Time next_poll_;  // when to check again whether the client is connected
  State state_ = State::kGoing;
};

}  // namespace quarry::sync
