// Commands that root runs act as the owner of the files that they change. Otherwise they would leave
// files that the owner cannot write, and would run programs that the owner has chosen as root.
#pragma once

#include <filesystem>

#include "quarry/base/result.h"

namespace quarry::app {

/// If this process is root and PATH belongs to another user, permanently becomes that user and sets
/// HOME, USER and LOGNAME. If PATH does not exist, the owner of its folder counts. Errors: kDenied,
/// kIo.
base::Result<void> act_as_owner_of(const std::filesystem::path& path);

}  // namespace quarry::app
