// event.mtime: a parent that is dated so close to its child that a timeline would not be in order
// is shown 25 ms before it.
//
// Computed for what is marked, when all events are there. Marks nothing else.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "derived/checkins/file_links.h"
#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

/// Children that are dated less than this many days after a parent are close to it.
constexpr double kCloseTimes = 2.0 / 86400.0;

class EventTimes {
 public:
  /// None is owned.
  EventTimes(Work& work, FileLinks& file_links, Events& events)
      : work_(work), file_links_(file_links), events_(events) {}

  // Both throw SqliteError.

  /// Puts what is marked, and everybody above it whom that can move, where it belongs.
  void adjust_times();
  /// The event of RID, no check-in, is put back to where it was before adjust_times().
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
