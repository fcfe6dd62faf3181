// What becomes of one tag when artifacts are looked at one after the other, as a rebuild does:
//
//   a card       is dropped where the artifact has an entry, of its own or inherited, that is not
//                older; else it is the artifact's entry, and the descendants' too if it propagates;
//                if it does not, they lose what they inherited before
//   inheriting   replaces what is inherited and older, and stops at whoever has an entry of its own
//   a check-in   that comes puts its own cards first, and then takes what its primary parent has
//
// In memory: the tags of a whole history at once.
#pragma once

#include <unordered_map>
#include <vector>

#include "tag_entries.h"

namespace quarry::repository {

class TagReplay {
 public:
  /// From now on CHILD's primary parent is PARENT (0: none), and CHILD has what that has.
  void link(Rid child, Rid parent);
  /// The same, but what CHILD has stays as it is: by a tag `parent`.
  void relink(Rid child, Rid parent);
  /// A card: ENTRY on its origin.
  void put(const TagEntry& entry);

  const std::unordered_map<Rid, TagEntry>& entries() const { return entries_; }
  /// Whether a card was dropped for something inherited.
  bool overruled() const { return overruled_; }
  /// Whether one was dropped for another of the same date on the same artifact.
  bool tied() const { return tied_; }

 private:
  void spread(Rid from);

  std::unordered_map<Rid, Rid> parents_;
  std::unordered_map<Rid, std::vector<Rid>> children_;
  std::unordered_map<Rid, TagEntry> entries_;
  bool overruled_ = false;
  bool tied_ = false;
};

}  // namespace quarry::repository
