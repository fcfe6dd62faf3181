// The files of a new check-in: the files of its parent, with the changes of a change set, or with
// earlier changes rolled back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "landing_error.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/merge.h"
#include "quarry/changes/tree.h"

namespace quarry::changes {

class TreeChange {
 public:
  /// BEFORE contains the files of the parent, and is copied. New contents are named by hashes of
  /// ALGORITHM, and must not exceed MAX_SIZE bytes.
  TreeChange(const FileTree& before, ContentSource contents, artifact::HashAlgorithm algorithm,
             std::size_t max_size)
      : tree_(before), contents_(std::move(contents)), algorithm_(algorithm), max_size_(max_size) {}

  /// Applies FILES. If BASE is not null, merges each file that differs between BASE and the tree.
  /// Otherwise, FILES replace the files in the tree.
  Attempt<void> apply(const std::vector<ChangedFile>& files, const FileTree* base,
                      const MergeLabels& labels);
  /// Rolls back the changes between BEFORE and AFTER.
  Attempt<void> roll_back(const FileTree& after, const FileTree& before, const MergeLabels& labels);

  /// The content of a file that the parent does not have.
  struct Added {
    artifact::HashName name;
    Content content;
    std::optional<artifact::HashName> prior;  // name of the file's previous content
  };
  /// Returns the new contents. LABELS are the names of the versions for messages. Refusals:
  /// kConflict (with all conflicts), kNothing.
  Attempt<std::vector<Added>> finish(const MergeLabels& labels);
  FileTree& tree() { return tree_; }

 private:
  using MaybeFile = std::optional<TreeFile>;
  struct Conflict {
    std::string name;
    MergeConflict what;
  };

  static MaybeFile find(const FileTree& tree, std::string_view name);
  Attempt<void> check(const ChangedFile& file) const;
  artifact::HashName name_of(const Content& content, const MaybeFile& ours, const MaybeFile& base);
  base::Result<Content> content_of(const MaybeFile& file);
  Attempt<void> merge(const std::string& name, const MaybeFile& base, const MaybeFile& theirs,
                      const MergeLabels& labels);
  void put(const std::string& name, const MaybeFile& file);
  void find_obstacles();
  std::unexpected<LandingError> conflict(const MergeLabels& labels);

  FileTree tree_;
  ContentSource contents_;
  artifact::HashAlgorithm algorithm_;
  std::size_t max_size_;
  std::unordered_map<artifact::HashName, Content> new_contents_;
  std::map<std::string, MaybeFile, std::less<>> touched_;  // the original versions of changed files
  std::vector<Conflict> conflicts_;
  std::size_t lines_ = 0;  // number of lines merged
};

}  // namespace quarry::changes
