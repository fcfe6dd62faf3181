// How long a request may go on: a time, and not beyond its client's presence.
//
// Whatever is repeated in a session asks is_over() now and then, and so does the repository while
// it works (Repository::bound_by). A request that is over is answered with one error, and changes
// nothing; a reply that may end early, as a clone's, does so when is_near().
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/result.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

class Bound {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Begins now. HAS_LEFT may be empty, and must live as long as this.
  Bound(const SessionOptions& options, const std::function<bool()>& has_left);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Time now() const { return options_.now(); }
  /// Whether the time is up, or the client has left; once it is, it stays so. Costs about as much
  /// as reading the clock.
  bool is_over();
  /// Whether so much of the time has gone that a reply should be brought to its end.
  bool is_near() const;
  /// Error kLimit: is_over().
  base::Result<void> check();
  /// What the client is to be told, and the log. After is_over().
  base::Error error() const;

 private:
  enum class State { kGoing, kLate, kLeft };

  const SessionOptions& options_;
  const std::function<bool()>& has_left_;
  Time began_;
  Time next_look_;  // at the client
  State state_ = State::kGoing;
};

}  // namespace quarry::sync
