// The comment of a check-in as people find it on the timeline.
#pragma once

#include <span>
#include <string>

#include "quarry/artifact/hash_name.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

/// A change set that a rollback takes back.
struct TakenBackCheckIn {
  ChangeSetId id;
  artifact::HashName name;
  std::string comment;  // of the check-in, in fossil's markup, as GIVEN below is
};

/// The comment of a check-in whose author gave GIVEN ("": none), and which takes TAKEN_BACK back, in
/// the order in which they had landed: those are named, by the first lines of their comments, by the
/// digits that lists show of them, and by their check-ins, as links.
std::string comment_of(const std::string& given, std::span<const TakenBackCheckIn> taken_back);

}  // namespace quarry::changes
