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

  /// Makes the rows of the check-in RID, or of a document that names one for the version before.
  void compute_mlinks(Rid rid);

  /// The files of RID; nothing where it, or its baseline, is not there.
  std::optional<FileSet> file_set(Rid rid);
  /// Whether there are rows for what the check-in RID changed.
  bool has_changes(Rid rid);
  /// Whether there are rows for what the check-in CHILD changed from its parent PARENT.
  bool has_changes(Rid child, Rid parent);
  /// Whether a rebuild looks at the check-in PARENT when it has seen CHILD, and compares them then.
  bool comes_to(Rid child, Rid parent);
  /// Whether a rebuild compares CHILD, whose primary parent, PRIMARY, is no check-in with files to
  /// compare, with a merge parent that it comes to later.
  bool is_compared_later(Rid child, std::string_view primary, Rid parent);

 private:
  struct Comparison;
  bool compare_files(Comparison& child, const std::vector<std::string_view>& parents);
  void note_names(Comparison& child);

  Work& work_;
  Reparenting& reparenting_;
};

}  // namespace quarry::repository
