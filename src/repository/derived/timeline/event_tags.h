// Changes that tags make to rows of `event`, and to the links (`backlink`) in edited comments.
//
// The derivation calls this class for marked rows of `event`, after all tags have been written. The
// class marks times that must be recomputed.
#pragma once

#include <optional>
#include <string>

#include "derived/ancestry/tag_entries.h"
#include "derived/common/work.h"
#include "event_times.h"
#include "store/names.h"

namespace quarry::repository {

/// A tag that changes the comment, user or date of a check-in. An inherited tag does not change
/// them.
struct OwnTag {
  std::optional<std::string> value;  // nullopt if the tag was cancelled
  double day;
};

/// Returns the tag that a card sets on the check-in RID itself, or nullopt if there is none. Throws
/// SqliteError.
std::optional<OwnTag> own_tag(Work& work, Rid rid, PredefinedTag tag);

class EventTags {
 public:
  /// Arguments are not owned.
  EventTags(Work& work, EventTimes& event_times) : work_(work), event_times_(event_times) {}

  /// Updates the row for RID if it exists. Throws SqliteError.
  void refresh_event(Rid rid);

 private:
  void refresh_check_in_event(Rid rid);

  Work& work_;
  EventTimes& event_times_;
};

}  // namespace quarry::repository
