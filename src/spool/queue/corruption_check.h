// What can be seen to be wrong with a queue's files before their messages are read.
#pragma once

#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "segments/spool_files.h"

namespace quarry::spool {

/// What is wrong with FILES, as a person would say it; nothing if nothing is to be seen: the
/// position file is whole and of these segments, none of them is missing in between, and their
/// headers are in order. Damage within a segment shows when it is read. Errors: what the disk says.
base::Result<std::optional<std::string>> look_for_damage(const SpoolFiles& files);

}  // namespace quarry::spool
