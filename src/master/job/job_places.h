// Implements backoffice.max, which limits the running jobs of all services together, in addition to
// each service's own limit. Paused jobs and jobs of earlier generations do not count.
//
// A free place is given to the job that has waited longest, in any service. Paused jobs have
// priority over new ones.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

namespace quarry::master {

/// The first waiting job of a service. The smallest one of all services is next.
struct JobTurn {
  bool is_new = false;  // not started yet; false: paused
  std::chrono::steady_clock::time_point since;

  friend auto operator<=>(const JobTurn&, const JobTurn&) = default;
};

class JobPlaces {
 public:
  /// A service whose jobs use places.
  class Taker {
   public:
    virtual ~Taker() = default;
    /// Returns the number of places in use.
    virtual std::size_t running() const = 0;
    /// Returns the job that would take the next place, or nullopt if none may.
    virtual std::optional<JobTurn> first_waiting() const = 0;
    /// Continues or starts that job. Returns false if that fails; the service is then skipped this
    /// time.
    virtual bool take_place() = 0;
  };

  /// LIMIT is the number of places; 0: unlimited.
  explicit JobPlaces(std::size_t limit) : limit_(limit) {}
  JobPlaces(const JobPlaces&) = delete;
  JobPlaces& operator=(const JobPlaces&) = delete;

  /// TAKER is not owned.
  void join(Taker& taker) { takers_.push_back(&taker); }
  void leave(const Taker& taker) { std::erase(takers_, &taker); }

  std::size_t limit() const { return limit_; }
  bool has_room() const;
  /// Gives free places to waiting jobs. Call this when a job has started to wait, and when a place
  /// may have become free.
  void share_out();

 private:
  std::size_t limit_;
  std::vector<Taker*> takers_;
};

}  // namespace quarry::master
