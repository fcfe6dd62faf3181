// What each check-in changed (`mlink`), and names of files (`filename`).
//
// Computed for what is marked, when all links between check-ins are known. What it finds on the way
// to be a public check-in's file becomes public. Marks nothing.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "derived/common/manifests.h"
#include "derived/common/work.h"
#include "reparenting.h"

namespace quarry::repository {

class FileLinks {
 public:
  /// None is owned.
  FileLinks(Work& work, Reparenting& reparenting) : work_(work), reparenting_(reparenting) {}

  // All throw SqliteError.

  /// Makes the rows of the check-in RID.
  void compute_mlinks(Rid rid);

  /// The files of RID; nothing where it, or its baseline, is not there.
  std::optional<FileSet> file_set(Rid rid);

 private:
  struct Comparison;
  void compare_files(Comparison& child, const std::vector<std::string_view>& parents);

  Work& work_;
  Reparenting& reparenting_;
};

}  // namespace quarry::repository
