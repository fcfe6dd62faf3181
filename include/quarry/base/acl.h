// Sets access control lists of files with libacl.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// Users and groups that may read and write a file in addition to its owner and group.
struct AccessList {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
  bool empty() const { return users.empty() && groups.empty(); }
};

/// Sets the access control list of PATH to the permissions MODE, plus read and write access for
/// LIST. Removes all other entries, such as those inherited from the folder. Errors: kIo, for
/// example if LIST is not empty and the file system does not support access control lists.
Result<void> grant_access(const std::string& path, mode_t mode, const AccessList& list);

}  // namespace quarry::base
