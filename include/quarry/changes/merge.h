// Three versions of a file into one: what a change set made of the file that it was made from
// (BASE), and what the branch has made of it meanwhile (OURS).
//
//   base    ours    theirs
//   a       a       b        b          only one side has changed it
//   a       b       b        b          both have done the same
//   a       b       c        the lines of both, or a conflict where both changed the same lines
//   a       b       -        a conflict: removed on one side, changed on the other
//   -       b       c        a conflict: added on both sides
//
// The permission is merged in the same way. A symbolic link is merged as a whole: changed on both
// sides, or a file on one side and a link on the other, it is a conflict. So is a file that both
// have changed and that has no lines (it has a NUL byte), is larger than kMostMerged, or has more
// lines than kMostLinesMerged.
//
// libgit2 merges the lines, as git does.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::changes {

/// Bytes of a version of a file whose lines are merged.
inline constexpr std::size_t kMostMerged = std::size_t{16} << 20;
/// Its lines. So many take 2 or 3 seconds where all of both sides differ in the worst way; ten times
/// as many take minutes.
inline constexpr std::size_t kMostLinesMerged = 200'000;
/// Bytes of what is told of the conflicts in one file.
inline constexpr std::size_t kMostConflictText = std::size_t{16} << 10;

/// A version of a file. The content of a symbolic link is where it leads.
struct FileVersion {
  std::string_view content;
  char permission = 0;  // 'x' (executable), 'l' (symbolic link) or 0, as in a manifest

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
/// Nothing: there is no such file.
using MaybeVersion = std::optional<FileVersion>;

/// How people call the versions, where the lines of each are told.
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
  std::string reason;   // a few words: "both sides have changed the same lines"
  std::string regions;  // the lines, where it is of lines: text without control characters
};

/// The merged file; nothing: it is removed.
std::expected<std::optional<MergedFile>, MergeConflict> merge_file(const MaybeVersion& base,
                                                                   const MaybeVersion& ours,
                                                                   const MaybeVersion& theirs,
                                                                   const MergeLabels& labels);

}  // namespace quarry::changes
