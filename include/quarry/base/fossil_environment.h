// The environment in which Quarry starts `fossil`. The environment preloads a library that prevents
// fossil from destroying other processes' commits to the same file (see CAVEATS in quarryd(8)). The
// library has no effect on a statically linked fossil or on other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quarry::base {

/// Returns the path of the preloaded library, or an empty path if the library is not installed.
std::filesystem::path log_guard_library();

/// Returns the environment variables of a process that preloads LIBRARY. ENVIRONMENT is an array of
/// "NAME=value" strings with a final null pointer, or null for no variables. If LIBRARY is empty,
/// or LD_PRELOAD does not allow its path, the function logs the problem and returns ENVIRONMENT
/// unchanged.
std::vector<std::string> fossil_environment(
    const char* const* environment, const std::filesystem::path& library = log_guard_library());

}  // namespace quarry::base
