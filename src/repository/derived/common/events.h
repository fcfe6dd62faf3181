// Rows of `event` for artifacts other than check-ins, and notifications about new rows: email
// alerts (`pending_alert`) and the search index (`ftsdocs`).
//
// All classes whose artifacts have rows of `event` call this class. It marks two kinds of rows for
// recomputation: rows that tags change, and rows whose times must be compared with the times of
// children.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "work.h"

namespace quarry::repository {

/// A row of `event` before tags change it. The views are not owned.
struct EventRow {
  char type;
  double day;  // in the form that fossil writes (printed_day.h)
  std::optional<std::string> comment;
  std::optional<std::string> brief = {};
  std::int64_t tag = 0;  // 0 for no tag
};

/// Returns the user that ARTIFACT names, or nullopt if it does not name one.
inline std::optional<std::string_view> user_of(const artifact::Structural& artifact) {
  return artifact.has_user ? std::optional(artifact.user) : std::nullopt;
}

class Events {
 public:
  /// Arguments are not owned.
  explicit Events(Work& work) : work_(work) {}

  // All functions throw SqliteError.

  /// Writes the row for the artifact RID, unless the same row already exists. Marks rows to
  /// recompute.
  void put_event(Rid rid, const artifact::Structural& artifact, const EventRow& event);
  /// Marks the event of RID if its tags arrived before the artifact.
  void note_earlier_tags(Rid rid);
  /// Marks the new event of RID if its time might have to be adjusted to the time of a child. RID
  /// must not be a check-in.
  void note_compared_times(Rid rid);
  /// Adds a new event to pending_alert if email alerts are set up and this host has received the
  /// artifact from a client. TYPE is event.type.
  void note_for_alerts(char type, Rid rid);
  /// Marks the document RID for the next update of fossil's search index. TYPE is fossil's letter
  /// for the kind of document. NAME is its title, if it has one.
  void touch_search(char type, Rid rid, std::optional<std::string_view> name = std::nullopt);

  /// Returns the first digits of HASH, as shown to users.
  std::string shown(std::string_view hash) { return std::string(hash.substr(0, shown_digits())); }
  /// Returns the first digits of HASH for a link: six more than shown() returns.
  std::string linked(std::string_view hash);

 private:
  std::size_t shown_digits();

  Work& work_;
  std::optional<bool> has_search_index_, has_alerts_;
};

}  // namespace quarry::repository
