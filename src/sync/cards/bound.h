// Limits a request to a maximum time, and to as long as its client is connected.
//
// Loops in a session call is_over() from time to time, and so does the repository
// (Repository::bound_by). A request that is over is answered with one error and changes nothing; a
// reply that may end early, such as a clone's, ends when is_near().
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/result.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

class Bound {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Starts now. HAS_LEFT may be empty, and must outlive this.
  Bound(const SessionOptions& options, const std::function<bool()>& has_left);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Time now() const { return options_.now(); }
  /// Whether the time is up or the client has disconnected; once true, it stays true. Costs about
  /// as much as reading the clock.
  bool is_over();
  /// Whether so much time has passed that a reply should be finished.
  bool is_near() const;
  /// Error kLimit: is_over().
  base::Result<void> check();
  /// The error for the client and the log. After is_over().
  base::Error error() const;

 private:
  enum class State { kGoing, kLate, kLeft };

  const SessionOptions& options_;
  const std::function<bool()>& has_left_;
  Time began_;
  Time next_poll_;  // of the client's connection
  State state_ = State::kGoing;
};

}  // namespace quarry::sync
