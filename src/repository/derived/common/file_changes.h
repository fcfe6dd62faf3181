// What differs between the files of a check-in and those of a parent.
#pragma once

#include <string_view>
#include <vector>

#include "manifests.h"

namespace quarry::repository {

/// One difference. Empty hashes: not in the parent, not in the child. The views are of the cards.
struct FileChange {
  std::string_view from, to, name, prior;
  int permission;
};

/// mlink.mperm.
int permission_number(const artifact::FileCard& file);

/// Those that a rebuild finds: what CHILD has, by name, then what it has no more.
std::vector<FileChange> changes_between(const FileSet& parent, const FileSet& child);

}  // namespace quarry::repository
