// The `fossil` program, asked about the check-out that a command is run in: it alone knows its own
// check-out database, whatever its version.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

/// What `fossil ARGUMENTS` prints, run in FOLDER. Errors: kNotFound: there is no such program;
/// kInvalid: it failed, and what it says; kLimit: it prints too much; kIo.
base::Result<std::string> ask_fossil(const std::filesystem::path& folder,
                                     std::vector<std::string> arguments);

}  // namespace quarry::app
