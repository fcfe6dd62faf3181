// Whom a child becomes when the master runs as root. Used by the configuration (names to numbers,
// at the start, where a mistake can still be pointed at) and by every new child.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::master {

struct Credentials {
  std::string user;  // for messages; "#UID" where the number has no name
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;  // "" where the user has no entry
  /// GID, and what else the user belonged to when this was found out: once, since it takes longer
  /// than all else that a new child does.
  std::vector<gid_t> groups;
};

/// The user called NAME (or a number) with the group called GROUP ("": the user's own).
/// Error kNotFound.
base::Result<Credentials> credentials_named(const std::string& name, const std::string& group);
/// The owner of PATH. Errors: kNotFound, kIo.
base::Result<Credentials> owner_of(const std::filesystem::path& path);
/// The group called NAME (or a number). Error kNotFound.
base::Result<gid_t> group_named(const std::string& name);

/// The users or groups called NAMES, separated by commas. Error kNotFound.
base::Result<std::vector<uid_t>> users_named(std::string_view names);
base::Result<std::vector<gid_t>> groups_named(std::string_view names);

/// Becomes the user of CREDENTIALS, with its groups and no others, for good. Errors: kDenied, kIo.
base::Result<void> become(const Credentials& credentials);

}  // namespace quarry::master
