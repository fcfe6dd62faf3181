// Implements backoffice.max, a limit on the running jobs of all services. Each service also has a
// separate limit. Paused jobs and jobs of earlier generations do not count.
//
// The job that has waited longest, in any service, gets a free place. Paused jobs have priority
// over new jobs.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

namespace quarry::master {

/// The first waiting job of a service. The smallest JobTurn of all services gets the next place.
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
    /// Returns the job that will take the next place, or nullopt.
    virtual std::optional<JobTurn> first_waiting() const = 0;
    /// Continues or starts the first waiting job. Returns false on failure. The service is then
    /// skipped until the next share_out().
    virtual bool take_place() = 0;
  };

  /// Creates LIMIT places; 0: unlimited.
  explicit JobPlaces(std::size_t limit) : limit_(limit) {}
  JobPlaces(const JobPlaces&) = delete;
  JobPlaces& operator=(const JobPlaces&) = delete;

  /// Adds TAKER, which is not owned.
  void join(Taker& taker) { takers_.push_back(&taker); }
  void leave(const Taker& taker) { std::erase(takers_, &taker); }

  std::size_t limit() const { return limit_; }
  bool has_room() const;
  /// Gives free places to waiting jobs. Called after a job has started to wait, and when a place
  /// might have become free.
  void share_out();

 private:
  std::size_t limit_;
  std::vector<Taker*> takers_;
};

}  // namespace quarry::master
