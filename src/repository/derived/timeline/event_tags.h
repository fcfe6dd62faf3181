// What tags make of rows of `event`, and of the links (`backlink`) in comments that they edit.
//
// Computed for the events that are marked, when all tags are known. Marks the times that have to be
// looked at.
#pragma once

#include <optional>
#include <string>

#include "derived/ancestry/tag_entries.h"
#include "derived/common/work.h"
#include "event_times.h"
#include "store/names.h"

namespace quarry::repository {

/// The tag comment, user or date as the row of a check-in shows it: what is inherited does not show
/// there.
struct OwnTag {
  std::optional<std::string> value;  // nothing: it has been taken back
  double day;
};

/// The tag that a card has put on the check-in RID itself. Throws SqliteError.
std::optional<OwnTag> own_tag(Work& work, Rid rid, PredefinedTag tag);

class EventTags {
 public:
  /// None is owned.
  EventTags(Work& work, EventTimes& event_times) : work_(work), event_times_(event_times) {}

  /// Makes what the row for RID, if there is one, shows of tags. Throws SqliteError.
  void refresh_event(Rid rid);

 private:
  void refresh_check_in_event(Rid rid);

  Work& work_;
  EventTimes& event_times_;
};

}  // namespace quarry::repository
