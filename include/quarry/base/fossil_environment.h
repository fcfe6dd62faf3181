// The environment in which Quarry starts `fossil`. It preloads a library that prevents fossil from
// losing the commits of other processes to the same file (see CAVEATS in quarryd(8)). The library
// has no effect on a statically linked fossil or on other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quarry::base {

/// Returns the path of that library, or an empty path if it is not installed.
std::filesystem::path log_guard_library();

/// Returns ENVIRONMENT (strings "NAME=value" and a final null pointer) with LIBRARY preloaded. If
/// LIBRARY is empty, or its path has characters that LD_PRELOAD does not allow, the function logs
/// that and returns ENVIRONMENT unchanged.
std::vector<std::string> fossil_environment(
    const char* const* environment, const std::filesystem::path& library = log_guard_library());

}  // namespace quarry::base
