// Differences between the files of a check-in and those of a parent.
#pragma once

#include <string_view>
#include <vector>

#include "manifests.h"

namespace quarry::repository {

/// One difference. A hash is empty if the file is missing on that side. Views point into the cards.
struct FileChange {
  std::string_view from, to, name, prior;
  int permission;
};

/// mlink.mperm.
int permission_number(const artifact::FileCard& file);

/// The same differences as in fossil's rebuild: files of CHILD by name, then deleted files.
std::vector<FileChange> changes_between(const FileSet& parent, const FileSet& child);

}  // namespace quarry::repository
