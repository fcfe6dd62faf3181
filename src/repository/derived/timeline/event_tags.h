// What tags make of rows of `event`, and of the links (`backlink`) in comments that they edit.
//
// Computed for the events that are marked, when all tags are known. Marks the times that have to be
// looked at.
#pragma once

#include <optional>
#include <string>

#include "derived/ancestry/rebuild_order.h"
#include "derived/ancestry/tag_entries.h"
#include "derived/common/work.h"
#include "event_times.h"
#include "store/names.h"

namespace quarry::repository {

/// The tag comment, user or date as the row of a check-in shows it. What is inherited shows there only
/// if it comes before a second look that makes the row anew.
struct OwnTag {
  /// The card is looked at before the check-in (for the second time, if that makes its row anew),
  /// which then takes whatever value there is; one that
  /// comes later and takes something back leaves nothing.
  bool comes_first;
  std::optional<std::string> value;
  double day;
};

/// The tag that a card has put on the check-in RID itself. Throws SqliteError.
std::optional<OwnTag> own_tag(Work& work, FileLinks& file_links, Rid rid, PredefinedTag tag);

class EventTags {
 public:
  /// None is owned.
  EventTags(Work& work, FileLinks& file_links, EventTimes& event_times)
      : work_(work), file_links_(file_links), event_times_(event_times) {}

  /// Makes what the row for RID, if there is one, shows of tags. Throws SqliteError.
  void refresh_event(Rid rid);

 private:
  void refresh_check_in_event(Rid rid);

  Work& work_;
  FileLinks& file_links_;
  EventTimes& event_times_;
};

}  // namespace quarry::repository
