// A change set: what somebody submits to be landed on a branch, as a tarball of
//
//   meta     what it is, in sections
//   lroot/   the files that it adds or changes, in their folders
//
// The tarball, and the job that carries it through the queue, have a name in which djb's and the
// document's habits meet; '_' stands in no part of it:
//
//   CSID_TAI_PID_HOST_PRIO_EXTRA
//   │    │   │   │    │    └ for people: who sent it; may be empty
//   │    │   │   │    └ the move type: RB, EM, BF or DC
//   │    │   │   └ of the machine that took it
//   │    │   └ of the process that took it
//   │    └ when: a TAI64N label of 24 hexadecimal digits, which sort as the times do
//   └ 16 hexadecimal digits, drawn at random: by these, or enough of the first, people name it
//
// The meta file:
//
//   ##SECTION          a line that begins with ## begins a section; blank lines count nowhere but in
//   LINE…              the comment
//
// A line of a section that would begin with ## or with a backslash has a backslash before it.
// Sections that are not known are kept as they are; those that the queue itself adds to a job
// (job.h) are refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::changes {

inline constexpr std::size_t kMostMeta = std::size_t{4} << 20;  // bytes
inline constexpr std::size_t kMostFiles = 20'000;               // of a change set
inline constexpr std::size_t kMostNamed = 1'000;                // dependencies, precursors
inline constexpr std::size_t kMostSections = 100;
inline constexpr std::size_t kMostName = 1'024;   // bytes of a file, branch or user
inline constexpr std::size_t kMostNamePart = 40;  // of a change set: host, extra
inline constexpr std::size_t kMostComment = std::size_t{64} << 10;

/// In the order in which they go.
enum class MoveType : std::uint8_t {
  kRollback,     // RB: takes back what others did
  kEmergency,    // EM
  kBugFix,       // BF
  kDevelopment,  // DC
};
inline constexpr std::size_t kMoveTypes = 4;
/// "RB", "EM", "BF", "DC".
std::string_view word_of(MoveType type);
std::optional<MoveType> move_type_named(std::string_view word);

/// 16 hexadecimal digits in lower case.
class ChangeSetId {
 public:
  static std::optional<ChangeSetId> parse(std::string_view text);
  static ChangeSetId random();
  std::string_view str() const { return {digits_.data(), digits_.size()}; }

  friend auto operator<=>(const ChangeSetId&, const ChangeSetId&) = default;

 private:
  std::array<char, 16> digits_{};
};

/// The name of a change set's tarball, and of its job.
struct ChangeSetName {
  ChangeSetId id;
  std::string tai;  // of 24 digits
  std::int64_t pid = 0;
  std::string host;
  MoveType type = MoveType::kDevelopment;
  std::string extra;

  static std::optional<ChangeSetName> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const ChangeSetName&, const ChangeSetName&) = default;
};
/// The label of TIME, with NANOSECONDS (below a million) beyond its milliseconds.
std::string tai64n(base::UnixMillis time, std::uint32_t nanoseconds = 0);
/// The time of LABEL, which is one of tai64n().
base::UnixMillis time_of_tai64n(std::string_view label);
/// TEXT with what may not stand in a part of a name left out, and cut to kMostNamePart bytes.
std::string name_part(std::string_view text);

/// What the meta file says. All text is UTF-8 without control characters (a comment has line ends
/// and tabs, and neither begins nor ends with a blank line); file names are simple paths
/// (artifact::is_simple_path), each named once.
struct Meta {
  MoveType type = MoveType::kDevelopment;
  std::string target;  // the branch; empty only of a rollback
  std::vector<std::string> files;
  /// Of a rollback: what it takes back. Otherwise what has to have landed before.
  std::vector<ChangeSetId> dependencies;
  std::string approval;  // a reference of whoever allowed it; empty: none
  std::vector<ChangeSetId> precursors;
  std::string comment;
  std::string author;  // empty: who submits it
  std::string base;    // the check-in that it was made from, as its author names it; empty: the tip
  /// Sections that are not known, and their lines, none of which is blank.
  std::vector<std::pair<std::string, std::vector<std::string>>> others;

  /// Errors: kInvalid and kLimit, with the section that is wrong and how.
  static base::Result<Meta> parse(std::string_view text);
  std::string text() const;
  /// Whether there is what its move type asks for; parse() has seen to that. Errors: kInvalid.
  base::Result<void> check() const;

  friend bool operator==(const Meta&, const Meta&) = default;
};

}  // namespace quarry::changes
