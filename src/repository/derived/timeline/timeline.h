// The timeline: one `event` row for each check-in and control artifact, and the links in check-in
// comments (`backlink`).
//
// The derivation calls this class for new check-ins and control artifacts. If tags of an artifact
// arrived before the artifact, the class marks the artifact's row of `event` for recomputation.
#pragma once

#include <string>

#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Timeline {
 public:
  /// Arguments are not owned.
  Timeline(Work& work, Events& events) : work_(work), events_(events) {}

  // Both functions throw SqliteError.

  /// Writes the row and links of the check-in RID, whose baseline must exist.
  void make_check_in_event(Rid rid, const artifact::Structural& manifest);
  void make_control_event(Rid rid, const artifact::Structural& control);

 private:
  std::string describe(const artifact::Structural& control);

  Work& work_;
  Events& events_;
};

}  // namespace quarry::repository
