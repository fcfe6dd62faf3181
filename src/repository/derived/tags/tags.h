// Tags: what T cards put on an artifact, and what its descendants inherit (`tag`, `tagxref`).
//
// Told of every card, and when an artifact has been linked with its parent. Marks the events and
// leaves that change by that; what a tag makes private is in Pending::hidden.
#pragma once

#include <optional>
#include <string_view>

#include "derived/checkins/reparenting.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Tags {
 public:
  /// None is owned.
  Tags(Work& work, Reparenting& reparenting) : work_(work), reparenting_(reparenting) {}

  // All throw SqliteError.

  /// Puts the T cards of ARTIFACT, which is RID and of DAY (a Julian day, as its D card has it),
  /// where they belong.
  void apply_tags(Rid rid, const artifact::Structural& artifact, double day);
  /// A card of SOURCE, of DAY, puts TAG on TARGET with VALUE; TYPE is that of tagxref.
  void set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
               double day, Rid target);
  /// RID has become a child of PARENT, its primary one.
  void inherit_tags(Rid rid, Rid parent);
  /// A tag has given RID another primary parent: it inherits what that has, and nothing else.
  void inherit_anew(Rid rid);

 private:
  bool comes_first(Rid source, Rid other, Rid target);
  void spread_tag(std::int64_t tag, Rid from);

  Work& work_;
  Reparenting& reparenting_;
};

}  // namespace quarry::repository
