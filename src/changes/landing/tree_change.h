// The files of a check-in that is about to be made: those of the one before, changed by a change set,
// or by taking back what check-ins have changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/merge.h"
#include "quarry/changes/tree.h"
#include "trouble.h"

namespace quarry::changes {

class TreeChange {
 public:
  /// BEFORE is copied. New contents are named by ALGORITHM, and may have MOST bytes.
  TreeChange(const FileTree& before, ContentSource contents, artifact::HashAlgorithm algorithm,
             std::size_t most)
      : tree_(before), contents_(std::move(contents)), algorithm_(algorithm), most_(most) {}

  /// Makes FILES of those that BASE has; null: of those that are here.
  Attempt<void> apply(const std::vector<ChangedFile>& files, const FileTree* base,
                      const MergeLabels& labels);
  /// Takes back what made AFTER of BEFORE.
  Attempt<void> take_back(const FileTree& after, const FileTree& before, const MergeLabels& labels);

  /// A content that is new.
  struct Added {
    artifact::HashName name;
    Content content;
    std::optional<artifact::HashName> prior;  // of the same file, before
  };
  /// What has been changed, all in all; LABELS says whose files these are. Refusals: kConflict with
  /// all that conflicts, kNothing.
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
  std::unexpected<Trouble> conflict(const MergeLabels& labels);

  FileTree tree_;
  ContentSource contents_;
  artifact::HashAlgorithm algorithm_;
  std::size_t most_;
  std::unordered_map<artifact::HashName, Content> new_contents_;
  std::map<std::string, MaybeFile, std::less<>> touched_;  // as they were at first
  std::vector<Conflict> conflicts_;
  std::size_t lines_ = 0;  // that have been merged
};

}  // namespace quarry::changes
