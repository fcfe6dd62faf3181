// The column event.mtime. If a child has the same date as its parent, or is dated less than two
// seconds earlier, the timeline shows the parent 25 ms before the child.
//
// The derivation calls this class for marked artifacts, after all rows of `event` have been
// written.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "derived/checkins/file_links.h"
#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

/// A child is close to its parent if it is dated before the parent, or less than this number of
/// days after the parent.
constexpr double kCloseTimes = 2.0 / 86400.0;
/// A parent is shown kTimeStep (in days) before a close child, and is moved at most kTimeRounds
/// times.
constexpr double kTimeStep = 25.0 / 86400000.0;
constexpr int kTimeRounds = 30;

class EventTimes {
 public:
  /// Arguments are not owned.
  EventTimes(Work& work, FileLinks& file_links, Events& events)
      : work_(work), file_links_(file_links), events_(events) {}

  // Both functions throw SqliteError.

  /// Recomputes the times of the marked artifacts and of affected ancestors.
  void adjust_times();
  /// Resets the event of RID to its time before adjust_times(). RID must not be a check-in.
  void forget_moved_time(Rid rid);

 private:
  std::optional<double> date_of(Rid rid);
  std::set<Rid> take_stale();
  std::optional<double> time_before_children(Rid rid, double day);
  bool is_compared(Rid child, bool is_primary);
  std::vector<Dated> close_children(Rid rid, double day);
  std::optional<Dated> chosen_child(Rid rid, double day);

  Work& work_;
  FileLinks& file_links_;
  Events& events_;
  std::unordered_map<Rid, std::optional<Dated>> chosen_;
};

}  // namespace quarry::repository
