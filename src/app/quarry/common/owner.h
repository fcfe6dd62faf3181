// If root runs a command, the command acts as the owner of the files that it changes. Otherwise, it
// would create files that the owner cannot write. It would also run, as root, programs that the
// owner has chosen.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

/// If this process is root and another user owns PATH, permanently switches to that user, and sets
/// HOME, USER and LOGNAME accordingly. If PATH does not exist, uses the owner of its folder.
/// Errors: kDenied, kIo.
Result<void> act_as_owner_of(const std::filesystem::path& path);

/// Returns the mail methods in METHODS (empty: all methods) that this process may use. Root does
/// not use a program, folder or database, because a user with the setup capability can select it
/// over the web. Must be called after act_as_owner_of().
std::vector<std::string> allowed_mail_methods(std::vector<std::string> methods);

}  // namespace quarry::app
