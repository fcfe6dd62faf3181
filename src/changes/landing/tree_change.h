// The files of a new check-in: the files of its parent, with the changes of a change set, or with
// earlier changes rolled back.
#pragma once

#include <functional>
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
#include "quarry/repository/check_ins.h"

namespace quarry::changes {

class TreeChange {
 public:
  /// BEFORE contains the files of the parent, and is copied. New contents are named by hashes of
  /// ALGORITHM, and must not exceed MAX_SIZE bytes.
  TreeChange(const FileTree& before, ContentSource contents, artifact::HashAlgorithm algorithm,
             std::size_t max_size)
      : tree_(before), contents_(std::move(contents)), algorithm_(algorithm), max_size_(max_size) {}

  /// Returns the renames between the base and the tree.
  using RenamesOnBranch = std::function<Result<repository::Renames>()>;

  /// Applies FILES. If BASE is not null, merges each file that differs between BASE and the tree.
  /// Otherwise, FILES replace the files in the tree. RENAMES is called at most once, and only if a
  /// file of BASE is missing in the tree.
  Attempt<void> apply(const std::vector<ChangedFile>& files, const FileTree* base,
                      const RenamesOnBranch& renames, const MergeLabels& labels);
  /// Rolls back the changes between BEFORE and AFTER, which include RENAMES.
  Attempt<void> roll_back(const FileTree& after, const FileTree& before,
                          const repository::Renames& renames, const MergeLabels& labels);

  /// The content of a file that the parent does not have.
  struct Added {
    artifact::HashName name;
    Content content;
    std::optional<artifact::HashName> prior;  // name of the file's previous content
  };
  /// Returns the new contents. LABELS contains the names of the versions for messages about
  /// conflicts. Refusals: kConflict (with all conflicts), kNothing (unless MAY_BE_EMPTY).
  Attempt<std::vector<Added>> finish(const MergeLabels& labels, bool may_be_empty);
  FileTree& tree() { return tree_; }
  const FileTree& tree() const { return tree_; }
  /// Returns the renamed files, with their names in the parent.
  const repository::Renames& prior_names() const { return prior_names_; }

 private:
  using MaybeFile = std::optional<TreeFile>;
  struct Conflict {
    std::string name;
    MergeConflict what;
  };

  struct FileChange {
    std::string name;
    std::string prior;  // if the file is renamed: its name in the base
    MaybeFile base, ours, theirs;
    MaybeFile occupant = {};  // if the file is renamed: the file that has the new name in the tree
    MaybeFile expected_occupant = {};  // the file that has the new name in the base
  };

  static MaybeFile find(const FileTree& tree, std::string_view name);
  Attempt<void> check(const ChangedFile& file) const;
  Attempt<void> follow(std::vector<FileChange>& changes, const RenamesOnBranch& renames);
  artifact::HashName name_of(const Content& content, const MaybeFile& ours, const MaybeFile& base);
  Result<Content> content_of(const MaybeFile& file);
  Attempt<void> merge_all(std::vector<FileChange> changes, const FileTree& base,
                          const MergeLabels& labels);
  Attempt<void> merge(const FileChange& change, const MergeLabels& labels);
  void put(const std::string& name, const MaybeFile& file);
  void find_obstacles();
  std::unexpected<LandingError> conflict(const MergeLabels& labels);

  FileTree tree_;
  ContentSource contents_;
  artifact::HashAlgorithm algorithm_;
  std::size_t max_size_;
  std::unordered_map<artifact::HashName, Content> new_contents_;
  std::map<std::string, MaybeFile, std::less<>> touched_;  // the original versions of changed files
  repository::Renames prior_names_;                        // from new names to old names
  std::vector<Conflict> conflicts_;
  std::size_t lines_ = 0;  // number of lines merged
};

}  // namespace quarry::changes
