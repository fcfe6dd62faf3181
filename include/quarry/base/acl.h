// Access control lists of files, over libacl.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// Who may read and write a file beside its owner and group.
struct AccessList {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
  bool empty() const { return users.empty() && groups.empty(); }
};

/// What PATH allows is MODE and LIST from now on. Errors: kIo (a file system without such lists,
/// too).
Result<void> grant_access(const std::string& path, mode_t mode, const AccessList& list);

}  // namespace quarry::base
