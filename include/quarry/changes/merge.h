// Three-way merge of a file: what a change set has made (theirs) of the file that it is based on
// (base), and what the branch has made of it (ours).
//
//   base    ours    theirs   result
//   a       a       b        b          changed on one side
//   a       b       b        b          the same change on both sides
//   a       b       c        both changes, or a conflict if both changed the same lines
//   a       b       -        a conflict: deleted on one side, changed on the other
//   -       b       c        a conflict: added on both sides
//
// Permissions are merged in the same way. A symbolic link is merged as a whole: it is a conflict
// if both sides changed it, or if it is a file on one side and a link on the other. A file changed
// on both sides is also a conflict if it is binary (has a NUL byte), larger than kMaxMerged or
// longer than kMaxLinesMerged.
//
// Lines are merged by libgit2, as in git.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::changes {

/// Limit on the bytes of each version of a file that is merged by lines.
inline constexpr std::size_t kMaxMerged = std::size_t{16} << 20;
/// Limit on its lines. In the worst case, where all lines differ on both sides, this many take 2
/// or 3 seconds; ten times as many take minutes.
inline constexpr std::size_t kMaxLinesMerged = 200'000;
/// Limit on the text about the conflicts in one file, in bytes.
inline constexpr std::size_t kMaxConflictText = std::size_t{16} << 10;

/// A version of a file. The content of a symbolic link is its target.
struct FileVersion {
  std::string_view content;
  char permission = 0;  // 'x' (executable), 'l' (symbolic link) or 0, as in a manifest

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
/// Nothing: the file does not exist.
using MaybeVersion = std::optional<FileVersion>;

/// Names of the versions, for the text about conflicts.
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
  std::string regions;  // the conflicting lines, if any: text without control characters
};

/// The merged file; nothing if it is deleted.
std::expected<std::optional<MergedFile>, MergeConflict> merge_file(const MaybeVersion& base,
                                                                   const MaybeVersion& ours,
                                                                   const MaybeVersion& theirs,
                                                                   const MergeLabels& labels);

}  // namespace quarry::changes
