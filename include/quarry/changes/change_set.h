// A change set: files to land on a branch, submitted as a tarball of
//
//   meta     metadata in sections
//   lroot/   the added and changed files, in their folders
//
// The tarball and its job have the same name. The parts of the name never contain '_':
//
//   CSID_TAI_PID_HOST_PRIO_EXTRA
//   │    │   │   │    │    └ the submitter, for humans; may be empty
//   │    │   │   │    └ move type: RB, EM, BF or DC
//   │    │   │   └ host that received it
//   │    │   └ process that received it
//   │    └ time of submission: a TAI64N label of 24 hexadecimal digits, which sorts by time
//   └ random id of 16 hexadecimal digits; users may type any unambiguous prefix
//
// The meta file:
//
//   ##SECTION          a line that begins with ## starts a section
//   LINE…              blank lines matter only in the comment
//
// If the text of a line begins with ## or with a backslash, the line is escaped with another
// backslash. Unknown sections are kept. Sections that only the queue may write (job.h) are
// rejected.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::changes {

inline constexpr std::size_t kMaxMeta = std::size_t{4} << 20;  // bytes
inline constexpr std::size_t kMaxFiles = 20'000;               // in a change set
inline constexpr std::size_t kMaxReferences = 1'000;           // dependencies, precursors
inline constexpr std::size_t kMaxSections = 100;
inline constexpr std::size_t kMaxName = 1'024;  // bytes in the name of a file, branch or user
/// Maximum length of HOST, and of EXTRA, in the name of a change set, in bytes.
inline constexpr std::size_t kMaxNamePart = 40;
inline constexpr std::size_t kMaxComment = std::size_t{64} << 10;

/// The type of a change set. Sorted by priority, highest first.
enum class MoveType : std::uint8_t {
  kRollback,     // RB: rolls back other change sets
  kEmergency,    // EM
  kBugFix,       // BF
  kDevelopment,  // DC
};
inline constexpr std::size_t kMoveTypes = 4;
/// Returns the abbreviation of TYPE: "RB", "EM", "BF" or "DC".
std::string_view word_of(MoveType type);
std::optional<MoveType> move_type_named(std::string_view word);

/// The id of a change set: 16 hexadecimal digits in lower case.
class ChangeSetId {
 public:
  static std::optional<ChangeSetId> parse(std::string_view text);
  static ChangeSetId random();
  std::string_view str() const { return {digits_.data(), digits_.size()}; }

  friend auto operator<=>(const ChangeSetId&, const ChangeSetId&) = default;

 private:
  std::array<char, 16> digits_{};
};

/// The name of a change set's tarball and of its job.
struct ChangeSetName {
  ChangeSetId id;
  std::string tai;  // 24 digits
  std::int64_t pid = 0;
  std::string host;
  MoveType type = MoveType::kDevelopment;
  std::string extra;

  static std::optional<ChangeSetName> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const ChangeSetName&, const ChangeSetName&) = default;
};
/// Returns the TAI64N label of TIME plus NANOSECONDS (less than a million).
std::string tai64n(base::UnixMillis time, std::uint32_t nanoseconds = 0);
/// Returns the time of LABEL, as returned by tai64n().
base::UnixMillis time_of_tai64n(std::string_view label);
/// Returns TEXT without characters that are not allowed in a part of a name, truncated to
/// kMaxNamePart bytes.
std::string name_part(std::string_view text);

/// The kinds of merges that fossil records: a whole branch, one check-in, or one check-in in
/// reverse.
enum class MergeKind : std::uint8_t { kMerge, kCherrypick, kBackout };

/// A check-in that was merged into the check-out before the submission.
struct MergedCheckIn {
  MergeKind kind = MergeKind::kMerge;
  artifact::HashName check_in;

  friend bool operator==(const MergedCheckIn&, const MergedCheckIn&) = default;
};

bool has_branch(const std::vector<MergedCheckIn>& merges);

/// A renamed file. Both names are in Meta::files.
struct Rename {
  std::string from;
  std::string to;

  friend bool operator==(const Rename&, const Rename&) = default;
};

/// The contents of the meta file. All text is UTF-8 without control characters, except for newlines
/// and tabs in the comment, which does not begin or end with a blank line. File names are simple
/// paths (artifact::is_simple_path) without duplicates.
struct Meta {
  MoveType type = MoveType::kDevelopment;
  std::string target;  // the branch; empty only for a rollback
  std::vector<std::string> files;
  /// For a rollback: the change sets to roll back. Otherwise: the change sets that must land before
  /// this one.
  std::vector<ChangeSetId> dependencies;
  std::string approval;  // reference to an approval, but not an approval (see job.h); may be empty
  std::vector<ChangeSetId> precursors;
  std::string comment;
  std::string author;  // empty if the submitter is the author
  std::string base;    // the check-in on which the changes are based (base_finder.h)
  std::vector<Rename> renames;
  std::vector<MergedCheckIn> merges;
  /// Unknown sections with their lines, except blank lines.
  std::vector<std::pair<std::string, std::vector<std::string>>> others;

  /// Parses TEXT. Errors: kInvalid, kLimit; the message names the section.
  static Result<Meta> parse(std::string_view text);
  std::string text() const;
  /// Checks that the sections which the move type requires are present. parse() includes this
  /// check. Error: kInvalid.
  Result<void> check() const;

  friend bool operator==(const Meta&, const Meta&) = default;
};

}  // namespace quarry::changes
