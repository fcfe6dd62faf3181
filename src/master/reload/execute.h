// Executes the program again in the master's own process and hands over the master's state.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// Executes PROGRAM with ARGUMENTS and passes HANDOVER to it. Returns only on failure, with nothing
/// changed. Errors: kIo, kLimit.
base::Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                          const Handover& handover);

}  // namespace quarry::master
