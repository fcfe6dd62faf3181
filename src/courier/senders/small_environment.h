// The environment of the programs that the courier runs.
#pragma once

#include <string>
#include <vector>

namespace quarry::courier {

/// The variables of this process that a program may rely on: PATH (a usual one if it is not set),
/// HOME, USER, LANG, TZ, TMPDIR.
std::vector<std::string> small_environment();

}  // namespace quarry::courier
