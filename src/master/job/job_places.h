// backoffice.max: what runs on request stays within a bound over all services together, whatever
// each of them may have for itself. Jobs that pause do not count, nor those of earlier generations,
// which finish.
//
// A place that comes free goes to who has waited longest, in whichever service; those that have
// paused go before those that have not begun.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

namespace quarry::master {

/// The first that waits in a service; what compares less has its turn before.
struct JobTurn {
  bool is_new = false;  // it has not begun
  std::chrono::steady_clock::time_point since;

  friend auto operator<=>(const JobTurn&, const JobTurn&) = default;
};

class JobPlaces {
 public:
  /// A service whose jobs take places.
  class Taker {
   public:
    virtual ~Taker() = default;
    /// How many places it has.
    virtual std::size_t running() const = 0;
    /// Who would take the next place; nothing: nobody, or nobody may.
    virtual std::optional<JobTurn> first_waiting() const = 0;
    /// That one goes on, or begins. False: it could not; the service is passed over this time.
    virtual bool take_place() = 0;
  };

  /// LIMIT places; 0: no bound.
  explicit JobPlaces(std::size_t limit) : limit_(limit) {}
  JobPlaces(const JobPlaces&) = delete;
  JobPlaces& operator=(const JobPlaces&) = delete;

  /// TAKER is not owned.
  void join(Taker& taker) { takers_.push_back(&taker); }
  void leave(const Taker& taker) { std::erase(takers_, &taker); }

  std::size_t limit() const { return limit_; }
  bool has_room() const;
  /// To be called when somebody began to wait, and when a place may have come free.
  void share_out();

 private:
  std::size_t limit_;
  std::vector<Taker*> takers_;
};

}  // namespace quarry::master
