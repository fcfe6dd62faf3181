// How a `fossil` of this machine is started by us: with a library loaded into it that keeps it from
// endangering the commits of others in the same file (see CAVEATS in quarryd(8)). Without effect on
// a fossil that is linked statically, and on any other program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quarry::base {

/// The library that keeps it from endangering others' commits. Empty: nowhere.
std::filesystem::path log_guard_library();

/// ENVIRONMENT ("NAME=value" each, then a null pointer) as a fossil is to have it. Where LIBRARY is
/// empty, or of a name that cannot be told to the dynamic linker: as it is, which is logged.
std::vector<std::string> fossil_environment(
    const char* const* environment, const std::filesystem::path& library = log_guard_library());

}  // namespace quarry::base
