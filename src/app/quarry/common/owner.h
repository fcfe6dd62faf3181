// If root runs a command, the command acts as the owner of the files that it changes. Otherwise, it
// would create files that the owner cannot write. It would also run, as root, programs that the
// owner has chosen.
#pragma once

#include <filesystem>

#include "quarry/base/result.h"

namespace quarry::app {

/// If this process is root and another user owns PATH, permanently switches to that user, and sets
/// HOME, USER and LOGNAME accordingly. If PATH does not exist, uses the owner of its folder.
/// Errors: kDenied, kIo.
base::Result<void> act_as_owner_of(const std::filesystem::path& path);

}  // namespace quarry::app
