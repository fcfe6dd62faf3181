// Executing the program again in the master's own process, with all that goes from one master to
// the next.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// Becomes PROGRAM, called with ARGUMENTS, and hands it HANDOVER. Comes back only where that fails,
/// with everything as it was. Errors: kIo, kLimit.
base::Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                          const Handover& handover);

}  // namespace quarry::master
