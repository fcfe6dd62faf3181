// A job: a change set on its way through the queue, as a file that is called as the change set is.
// The folder that it lies in says how far it has come; it is in one folder at every moment.
//
//   prequeue ─> queue ─> staging ─> pending ─> run ─> done       D  applied
//      Q          Q         S          P        X ├─> fail       F  failed
//                                                 ├─> term       T  terminated
//                                                 └─> abandon    A  abandoned
//
// The file has the sections of the meta file (change_set.h), and after them its own:
//
//   ##submitter   his login, and in a second line the capabilities that he had, if any
//   ##address     where he was
//   ##attempts    how often its execution ended abnormally, and how often it was put off: "0 0"
//   ##held        who holds it, and why; absent: nobody
//   ##landed      the check-in that it became
//   ##closure     of a rollback that has begun: all that it takes back
//   ##rollback    RB STAGE: it was taken back by that rollback, and where it was before
//   ##history     TIME STATE WHY, a line each, the oldest first
//
// A job that has landed and is taken back stays in done/, with ##rollback.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

inline constexpr std::size_t kMostJob = std::size_t{8} << 20;  // bytes of a job file
inline constexpr std::size_t kMostHistory = 1'000;  // lines that are kept: the first and the last
inline constexpr std::size_t kMostWhy = 1'000;      // bytes

/// Where a job is. The folder is called as word_of() says.
enum class Stage : std::uint8_t {
  kPrequeue,
  kQueue,
  kStaging,
  kPending,
  kRun,
  kDone,
  kFail,
  kTerm,
  kAbandon,
};
inline constexpr std::size_t kStages = 9;
std::string_view word_of(Stage stage);
std::optional<Stage> stage_named(std::string_view word);
/// Q S P X D F T A.
char letter_of(Stage stage);
/// As reports group them: submitted, in progress, applied, failed, terminated, abandoned.
std::string_view group_of(Stage stage);
/// It will not be executed any more.
constexpr bool is_over(Stage stage) {
  return stage >= Stage::kDone;
}

struct HistoryLine {
  base::UnixMillis time;
  char state = 'Q';
  std::string why;

  friend bool operator==(const HistoryLine&, const HistoryLine&) = default;
};

struct TakenBack {
  ChangeSetId by;
  Stage from = Stage::kDone;

  friend bool operator==(const TakenBack&, const TakenBack&) = default;
};

struct Job {
  ChangeSetName name;
  Meta meta;
  std::string submitter;
  std::string capabilities;
  std::string address;
  std::uint32_t crashes = 0;  // abnormal ends of its execution
  std::uint32_t put_off = 0;  // temporary errors (exit code 111)
  std::string held;
  std::optional<artifact::HashName> landed;
  std::vector<ChangeSetId> closure;
  std::optional<TakenBack> taken_back;
  std::vector<HistoryLine> history;

  /// When it came to where it is; when it was submitted, if nothing else is known.
  base::UnixMillis ended() const;
  /// WHY is cut to kMostWhy bytes, and made a line where it is none.
  void add_history(base::UnixMillis time, Stage stage, std::string_view why);

  /// TEXT as the job called NAME. Its meta file may be incomplete, where it failed for that reason
  /// (Meta::check). Errors: kInvalid, kLimit.
  static base::Result<Job> parse(const ChangeSetName& name, std::string_view text);
  std::string text() const;

  friend bool operator==(const Job&, const Job&) = default;
};

}  // namespace quarry::changes
