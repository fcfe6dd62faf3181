// The environment in which Quarry starts `fossil`: it preloads a library that prevents fossil from
// losing other processes' commits to the same file (see CAVEATS in quarryd(8)). It has no effect on a
// statically linked fossil or on other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quarry::base {

/// The path of that library. Empty if it is not installed.
std::filesystem::path log_guard_library();

/// ENVIRONMENT ("NAME=value" each, then a null pointer) with LIBRARY preloaded. If LIBRARY is empty,
/// or its path has characters that LD_PRELOAD does not allow, logs that and returns ENVIRONMENT unchanged.
std::vector<std::string> fossil_environment(
    const char* const* environment, const std::filesystem::path& library = log_guard_library());

}  // namespace quarry::base
