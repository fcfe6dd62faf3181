// The user and groups of a child when the master runs as root. Names are resolved when the
// configuration is read, so that mistakes are reported at startup.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::master {

struct Credentials {
  std::string user;  // for messages; "#UID" if the user has no name
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;  // "" if the user has no passwd entry
  /// GID and the supplementary groups. The lookup is slow compared with starting a child, so it is
  /// done only once.
  std::vector<gid_t> groups;
};

/// Returns the credentials of the user NAME (a name or number) with the group GROUP. If GROUP is
/// "", uses the user's primary group. Errors: kNotFound.
Result<Credentials> credentials_named(const std::string& name, const std::string& group);
/// Returns the user who owns PATH. Errors: kNotFound, kIo.
Result<Credentials> owner_of(const std::filesystem::path& path);
/// Returns the group with the name or number NAME. Errors: kNotFound.
Result<gid_t> group_named(const std::string& name);

/// Return the users or groups in NAMES, a comma-separated list. Errors: kNotFound.
Result<std::vector<uid_t>> users_named(std::string_view names);
Result<std::vector<gid_t>> groups_named(std::string_view names);

/// Switches this process permanently to the user and exactly the groups of CREDENTIALS. Errors:
/// kDenied, kIo.
Result<void> become(const Credentials& credentials);

}  // namespace quarry::master
