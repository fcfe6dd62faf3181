// Rows of `event` for what is no check-in, and who is told about new rows: the mail alerts
// (`pending_alert`) and the search index (`ftsdocs`).
//
// Told by every part whose artifacts the timeline shows. Marks the events that tags change, and the
// times that have to be compared with those of children.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "work.h"

namespace quarry::repository {

/// What the row of `event` says before tags change it. Views are of the caller's.
struct EventRow {
  char type;
  double day;  // as fossil prints it
  std::optional<std::string> comment;
  std::optional<std::string> brief = {};
  std::int64_t tag = 0;  // 0: none
};

class Events {
 public:
  /// None is owned.
  explicit Events(Work& work) : work_(work) {}

  // All throw SqliteError.

  /// Writes the row for the artifact RID unless it is there and says the same. Marks.
  void put_event(Rid rid, const artifact::Structural& artifact, const EventRow& event);
  /// Tags may have come before RID, which they are on: marks its event, which then takes them in.
  void note_earlier_tags(Rid rid);
  /// The event of RID, no check-in, has been made: marks it where it may have to be moved before a
  /// child.
  void note_compared_times(Rid rid);
  /// Where mail alerts are set up, a new event waits in pending_alert for the next notification.
  /// TYPE is that of the row.
  void note_for_alerts(char type, Rid rid);
  /// Makes a document's text known to the next update of fossil's search index.
  /// TYPE is fossil's letter for what the document RID is, NAME its title where it has one.
  void touch_search(char type, Rid rid, std::optional<std::string_view> name = std::nullopt);

  /// The first digits of HASH, as many as are shown to people.
  std::string shown(std::string_view hash) { return std::string(hash.substr(0, shown_digits())); }
  /// The same for a link: six more.
  std::string linked(std::string_view hash);

 private:
  std::size_t shown_digits();

  Work& work_;
  std::optional<bool> has_search_index_, has_alerts_;
};

}  // namespace quarry::repository
