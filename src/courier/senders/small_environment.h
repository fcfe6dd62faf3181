// The environment of the programs that the courier runs.
#pragma once

#include <string>
#include <vector>

namespace quarry::courier {

/// PATH (or a default), HOME, USER, LANG, TZ and TMPDIR of this process.
std::vector<std::string> small_environment();

}  // namespace quarry::courier
