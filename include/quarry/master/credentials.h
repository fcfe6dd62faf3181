// The user and groups of a child when the master runs as root. The configuration resolves the names
// at startup, so that mistakes are reported there; every new child switches to them.
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
  /// GID and the supplementary groups. Looked up once, because the lookup takes longer than
  /// everything else that a new child does.
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

/// Switches this process permanently to the user of CREDENTIALS and exactly its groups. Errors:
/// kDenied, kIo.
base::Result<void> become(const Credentials& credentials);

}  // namespace quarry::master
