// Queries a check-out with the `fossil` program, because the schema of the check-out database
// depends on its version.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

/// Runs `fossil ARGUMENTS` in FOLDER and returns its output. Errors: kNotFound if the program is
/// not installed; kInvalid with its message if it failed; kLimit if the output is too long; kIo.
base::Result<std::string> ask_fossil(const std::filesystem::path& folder,
                                     std::vector<std::string> arguments);

}  // namespace quarry::app
