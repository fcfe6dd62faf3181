// The timeline: one `event` row for each check-in and control artifact, and the links that check-in
// comments hold (`backlink`).
//
// Told when one comes. Marks its event where tags have come before it.
#pragma once

#include <string>

#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Timeline {
 public:
  /// None is owned.
  Timeline(Work& work, Events& events) : work_(work), events_(events) {}

  // Both throw SqliteError.

  /// Writes the row and the links of the check-in RID, whose baseline is there.
  void make_check_in_event(Rid rid, const artifact::Structural& manifest);
  /// The same for a control artifact.
  void make_control_event(Rid rid, const artifact::Structural& control);

 private:
  std::string describe(const artifact::Structural& control);

  Work& work_;
  Events& events_;
};

}  // namespace quarry::repository
