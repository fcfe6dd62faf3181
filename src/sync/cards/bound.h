// Limits the time of a request, and ends it when its client disconnects.
//
// Loops in a session and in the repository (Repository::bound_by) call is_over() regularly. If
// is_over() returns true, the request changes nothing, and the reply is a single error. The reply
// to a clone, and other replies that can be continued later, end when is_near() returns true.
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/result.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

class Bound {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Starts the clock. HAS_LEFT must outlive this object, and can be empty.
  Bound(const SessionOptions& options, const std::function<bool()>& has_left);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Time now() const { return options_.now(); }
  /// Returns whether the time limit has passed or the client has disconnected. Once the result is
  /// true, it stays true. Takes about as long as reading the clock.
  bool is_over();
  /// Returns whether the time limit is near. A reply that can be continued later should then end.
  bool is_near() const;
  /// Returns kLimit if is_over().
  Result<void> check();
  /// Returns the error for the client and the log. Call after is_over() has returned true.
  Error error() const;

 private:
  enum class State { kGoing, kLate, kLeft };

  const SessionOptions& options_;
  const std::function<bool()>& has_left_;
  Time began_;
  Time next_poll_;  // time of the next call of HAS_LEFT
  State state_ = State::kGoing;
};

}  // namespace quarry::sync
