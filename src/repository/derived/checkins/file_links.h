// The files that each check-in changed (`mlink`), and file names (`filename`).
//
// The derivation calls this class for marked check-ins, after all links between check-ins have been
// written. The class also makes the files of a public check-in public.
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
  /// Arguments are not owned.
  FileLinks(Work& work, Reparenting& reparenting) : work_(work), reparenting_(reparenting) {}

  // All functions throw SqliteError.

  void compute_mlinks(Rid rid);
  /// Writes the rows of the artifact RID as if PARENTS were its parents. RID can be an artifact of
  /// any kind.
  void write_mlinks(Rid rid, const std::vector<std::string_view>& parents);

  /// Returns the files of RID, or nullopt if RID or its baseline is missing.
  std::optional<FileSet> file_set(Rid rid);

 private:
  struct Comparison;
  void compare_files(Comparison& child, const std::vector<std::string_view>& parents);

  Work& work_;
  Reparenting& reparenting_;
};

}  // namespace quarry::repository
