// Tags that T cards set on artifacts, and that descendants inherit (`tag`, `tagxref`).
//
// This class is used for every T card, and after an artifact has been linked to its parent. It
// marks the affected rows of `event` and the affected leaves for recomputation. It adds artifacts
// that a tag makes private to Pending::hidden.
#pragma once

#include <optional>
#include <string_view>

#include "derived/checkins/reparenting.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Tags {
 public:
  /// Arguments are not owned.
  Tags(Work& work, Reparenting& reparenting) : work_(work), reparenting_(reparenting) {}

  // All functions throw SqliteError.

  /// Applies the T cards of ARTIFACT. RID is the row id of ARTIFACT, and DAY the Julian day of its
  /// D card.
  void apply_tags(Rid rid, const artifact::Structural& artifact, double day);
  /// Applies a card that sets TAG on TARGET to VALUE. SOURCE is the artifact with the card, and DAY
  /// its date. TYPE is tagxref.tagtype.
  void set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
               double day, Rid target);
  /// Applies the tags that RID inherits from PARENT, its primary parent. The two must already be
  /// linked.
  void inherit_tags(Rid rid, Rid parent);
  /// Replaces the inherited tags of RID, whose primary parent was changed by a tag.
  void inherit_anew(Rid rid);

 private:
  bool comes_first(Rid source, Rid other, Rid target);
  void spread_tag(std::int64_t tag, Rid from);

  Work& work_;
  Reparenting& reparenting_;
};

}  // namespace quarry::repository
