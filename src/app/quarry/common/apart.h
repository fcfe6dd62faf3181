// Runs this program again, because one process works on one repository.
#pragma once

#include <string>
#include <vector>

namespace quarry::app {

/// Runs `quarry` with ARGUMENTS in a separate process, and passes signals on to it. Returns its exit
/// code. If it cannot be started, prints an error with the name WHAT and returns kFailed.
int run_apart(const std::vector<std::string>& arguments, const std::string& what);

}  // namespace quarry::app
