// Rows of `event` for artifacts other than check-ins, and notifications about new rows: email
// alerts (`pending_alert`) and the search index (`ftsdocs`).
//
// Called by every part whose artifacts appear in the timeline. Marks events that tags change, and
// times that must be compared with those of children.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "work.h"

namespace quarry::repository {

/// A row of `event` before tags change it. Views are not owned.
struct EventRow {
  char type;
  double day;  // as fossil prints it
  std::optional<std::string> comment;
  std::optional<std::string> brief = {};
  std::int64_t tag = 0;  // 0 if none
};

/// The user that ARTIFACT names, if it does.
inline std::optional<std::string_view> user_of(const artifact::Structural& artifact) {
  return artifact.has_user ? std::optional(artifact.user) : std::nullopt;
}

class Events {
 public:
  /// Arguments are not owned.
  explicit Events(Work& work) : work_(work) {}

  // All throw SqliteError.

  /// Writes the row for the artifact RID, unless the same row exists. Marks.
  void put_event(Rid rid, const artifact::Structural& artifact, const EventRow& event);
  /// Marks the event of RID if tags for it arrived first.
  void note_earlier_tags(Rid rid);
  /// Marks the new event of RID, which is not a check-in, if it may have to move before a child.
  void note_compared_times(Rid rid);
  /// Adds a new event to pending_alert if email alerts are set up. TYPE is event.type.
  void note_for_alerts(char type, Rid rid);
  /// Marks the document RID for the next update of fossil's search index. TYPE is fossil's letter
  /// for its kind, NAME its title if it has one.
  void touch_search(char type, Rid rid, std::optional<std::string_view> name = std::nullopt);

  /// The first digits of HASH, as shown to people.
  std::string shown(std::string_view hash) { return std::string(hash.substr(0, shown_digits())); }
  /// The same for a link, with six more digits.
  std::string linked(std::string_view hash);

 private:
  std::size_t shown_digits();

  Work& work_;
  std::optional<bool> has_search_index_, has_alerts_;
};

}  // namespace quarry::repository
