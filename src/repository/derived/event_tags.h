// The tags comment, user and date as the row of `event` of a check-in shows them. What is inherited
// never shows there.
#pragma once

#include <optional>
#include <string>

#include "rebuild_order.h"
#include "store/names.h"
#include "tag_entries.h"

namespace quarry::repository {

struct OwnTag {
  /// The card is looked at before the check-in, which then takes whatever value there is; one that
  /// comes later and takes something back leaves nothing.
  bool comes_first;
  std::optional<std::string> value;
  double day;
};

/// The tag that a card has put on RID itself. Throws SqliteError.
std::optional<OwnTag> own_tag(TagEntries& tags, RebuildOrder& order, Rid rid, PredefinedTag tag);

}  // namespace quarry::repository
