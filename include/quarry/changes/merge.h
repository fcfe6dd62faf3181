// Three-way merge of a file. "base" is the version on which the change set is based, "theirs" the
// version of the change set, and "ours" the version on the branch.
//
//   base    ours    theirs   result
//   a       a       b        b          changed on one side
//   a       b       b        b          the same change on both sides
//   a       b       c        both changes, or a conflict in the same lines
//   a       b       -        a conflict: deleted on one side, changed on the other
//   -       b       c        a conflict: added on both sides
//
// Permissions are merged in the same way. A symbolic link is merged as a whole. A conflict occurs
// if both sides changed the link, or if one side has a file and the other side a link. A file that
// was changed on both sides is also a conflict if it is binary (contains a NUL byte), is larger
// than kMaxMerged, or has more than kMaxLinesMerged lines.
//
// Lines are merged by libgit2, as in git.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::changes {

/// Maximum size of each version of a file that is merged by lines, in bytes.
inline constexpr std::size_t kMaxMerged = std::size_t{16} << 20;
/// Maximum number of lines of each version. If all lines differ on both sides, a merge of this size
/// takes 2 or 3 seconds. With ten times as many lines, it takes minutes.
inline constexpr std::size_t kMaxLinesMerged = 200'000;
/// Limit on the text about the conflicts in one file, in bytes.
inline constexpr std::size_t kMaxConflictText = std::size_t{16} << 10;

/// A version of a file. The content of a symbolic link is its target.
struct FileVersion {
  std::string_view content;
  char permission = 0;  // 'x' (executable), 'l' (symbolic link) or 0, as in a manifest

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
/// A version, or nullopt if the file does not exist.
using MaybeVersion = std::optional<FileVersion>;

/// Names of the versions for the text about conflicts.
struct MergeLabels {
  std::string base;
  std::string ours;
  std::string theirs;
};

struct MergedFile {
  std::string content;
  char permission = 0;
};

struct MergeConflict {
  std::string reason;   // a few words: "the same lines changed on both sides"
  std::string regions;  // the conflicting lines, without control characters; may be empty
};

/// Returns the merged file, or nullopt if it is deleted.
std::expected<std::optional<MergedFile>, MergeConflict> merge_file(const MaybeVersion& base,
                                                                   const MaybeVersion& ours,
                                                                   const MaybeVersion& theirs,
                                                                   const MergeLabels& labels);

/// Returns the unified diff from BEFORE to AFTER, which are versions of the file NAME. If a version
/// is binary or larger than kMaxDiffed, the diff only says that the versions differ. An empty line
/// precedes each remark.
std::string diff_file(const std::string& name, const MaybeVersion& before,
                      const MaybeVersion& after);
inline constexpr std::size_t kMaxDiffed = std::size_t{256} << 10;  // bytes

}  // namespace quarry::changes
