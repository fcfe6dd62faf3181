// What a rebuild comes to at another time than before: artifacts that a new child of theirs makes
// deltas (see rebuild_deltas.h), and those that are stored in another way. No table is of this part;
// it marks what hangs on the order in which a rebuild looks at artifacts.
//
// Told when a check-in, a wiki page or a technote has been linked with its parents.
#pragma once

#include <set>

#include "events.h"
#include "pending.h"
#include "quarry/artifact/structural.h"
#include "work.h"

namespace quarry::repository {

class PutOff {
 public:
  /// None is owned.
  PutOff(Work& work, Events& events) : work_(work), events_(events) {}

  /// The new RID changes when a rebuild looks at its ancestors, perhaps: marks them as late, and
  /// their times, events, files and documents. Throws SqliteError.
  void note_put_off(Rid rid);
  /// MOVED, all that is made from it, and whom that puts off or puts off no longer, are looked at at
  /// another time than before. Marks the same, and tickets and threads. Throws SqliteError.
  void note_moved(const Moved& moved);

 private:
  void note_looked_at_elsewhere(Rid rid);
  void note_moved_control(const artifact::Structural& control);
  void note_children(Rid rid);
  void note_inheritors(Rid rid);
  void note_branch(Rid rid);
  void note_moved_document(Rid rid);

  Work& work_;
  Events& events_;
  std::set<Rid> put_off_;  // may be looked at later than before
};

}  // namespace quarry::repository
