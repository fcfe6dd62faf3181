// The comment of a check-in, as shown in the timeline.
#pragma once

#include <span>
#include <string>

#include "quarry/artifact/hash_name.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

struct RolledBackCheckIn {
  ChangeSetId id;
  artifact::HashName name;
  std::string comment;  // the check-in's comment, in fossil's markup, like GIVEN below
};

/// Returns the comment of a check-in. GIVEN is the author's comment, which may be empty.
/// ROLLED_BACK are the change sets that the check-in rolls back, in order of landing. For each of
/// them, the comment has its abbreviated id, the first line of its comment, and a link to its
/// check-in.
std::string comment_of(const std::string& given, std::span<const RolledBackCheckIn> rolled_back);

}  // namespace quarry::changes
