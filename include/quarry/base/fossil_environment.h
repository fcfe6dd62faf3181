// How a `fossil` of this machine is started by us: with a library loaded into it that keeps it from
// endangering the commits of others in the same file (see CAVEATS in quarryd(8)). Without effect on
// a fossil that is linked statically, and on any other program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::base {

/// Where the library NAME is that is loaded into a fossil: installed, or in the build folder of the
/// running program (BUILD/src/ROOM). Empty: nowhere.
std::filesystem::path library_for_fossil(std::string_view room, std::string_view name);

/// Has the dynamic linker load LIBRARY before all that ENVIRONMENT ("NAME=value" each) names. False,
/// and nothing is changed: it cannot be told of its path.
bool preload(std::vector<std::string>& environment, const std::filesystem::path& library);

/// The library that keeps it from endangering others' commits. Empty: nowhere.
std::filesystem::path log_guard_library();

/// ENVIRONMENT ("NAME=value" each, then a null pointer) as a fossil is to have it. Where LIBRARY is
/// empty, or of a name that cannot be told to the dynamic linker: as it is, which is logged.
std::vector<std::string> fossil_environment(
    const char* const* environment, const std::filesystem::path& library = log_guard_library());

}  // namespace quarry::base
