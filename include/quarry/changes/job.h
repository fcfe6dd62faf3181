// A job is a change set in the queue, stored as a file with the change set's name. The folder that
// contains the file is the state of the job. The file is in exactly one folder at any time. Users
// see the words of word_of() instead of the names of the folders (quarry-changes(7), The states).
//
//   prequeue ─> queue ─> staging ─> pending ─> run ─> done       D  landed
//      Q          Q         S          P        X ├─> fail       F  failed
//                                                 ├─> term       T  terminated
//                                                 └─> abandon    A  abandoned
//
// The file has the sections of the meta file (change_set.h), followed by its own:
//
//   ##submitter   login; an optional second line has the user's capabilities at that time; an
//                 optional third line "local" means a user of this machine, not of the repository
//   ##address     address of the submitter
//   ##attempts    number of crashes and of deferrals, for example "0 0"
//   ##held        the user who holds the job, and the reason; missing if it is not held
//   ##approver    the user who approved the job; the submitter's ##approval is only a reference
//   ##landed      the check-in that was created for it
//   ##closure     for a rollback that has begun: all change sets that it rolls back
//   ##rollback    RB STAGE: the rollback that rolled it back, and its previous stage
//   ##history     TIME STATE WHY, one line for each move, oldest first
//
// A job that has landed and is rolled back stays in done/, with ##rollback.
#pragma once

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

inline constexpr std::size_t kMaxJob = std::size_t{8} << 20;  // bytes of a job file
/// Maximum number of lines in a history. If there are more, lines in the middle are removed.
inline constexpr std::size_t kMaxHistory = 1'000;
inline constexpr std::size_t kMaxWhy = 1'000;  // bytes

/// The state of a job.
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
/// Returns the word for STAGE that users see: submitted, queued, staged, pending, running, landed,
/// failed, terminated or abandoned.
std::string_view word_of(Stage stage);
std::optional<Stage> stage_named(std::string_view word);
/// Returns the name of the folder of STAGE.
std::string_view folder_of(Stage stage);
std::optional<Stage> stage_of_folder(std::string_view name);
/// Returns the letter of STAGE in a history: Q S P X D F T or A.
char letter_of(Stage stage);
/// Returns the stage with LETTER, which must be valid. Q means kQueue.
Stage stage_with(char letter);
/// Returns whether a job in STAGE is finished and will not be executed again.
constexpr bool is_over(Stage stage) {
  return stage >= Stage::kDone;
}

struct HistoryLine {
  base::UnixMillis time;
  char state = 'Q';
  std::string why;

  friend bool operator==(const HistoryLine&, const HistoryLine&) = default;
};

struct RolledBack {
  ChangeSetId by;
  Stage from = Stage::kDone;

  friend bool operator==(const RolledBack&, const RolledBack&) = default;
};

struct Job {
  ChangeSetName name;
  Meta meta;
  std::string submitter;
  std::string capabilities;
  bool is_local = false;  // see Submission; false if there are no capabilities
  std::string address;
  std::uint32_t crashes = 0;    // abnormal ends of its execution
  std::uint32_t deferrals = 0;  // temporary errors (exit code 111)
  std::string held;
  std::string approver;  // empty if it is not approved
  std::optional<artifact::HashName> landed;
  std::vector<ChangeSetId> closure;
  std::optional<RolledBack> rolled_back;
  std::vector<HistoryLine> history;

  /// Returns the time at which the job reached its current stage, or the time of submission if it
  /// does not have a history.
  base::UnixMillis ended() const;
  /// Returns whether the job has passed the check of the prequeue daemon. The check sets the base
  /// of every job except a rollback, so a job without a base has not passed it.
  bool is_checked() const;
  /// Adds a line of history. Shortens WHY to one line of at most kMaxWhy bytes.
  void add_history(base::UnixMillis time, Stage stage, std::string_view why);

  /// Parses the file of the job NAME. The meta sections of a failed job may be incomplete
  /// (Meta::check). Errors: kInvalid, kLimit.
  static Result<Job> parse(const ChangeSetName& name, std::string_view text);
  std::string text() const;

  friend bool operator==(const Job&, const Job&) = default;
};

}  // namespace quarry::changes
