// The log of a change set, BASE/log/CSID. Several processes append whole lines to it. It makes
// look-ups by id fast: the job's name, and its dependents.
//
//   name NAME              name of the job
//   depends CSID           a dependency; for a rollback, a change set that it rolls back
//   supports CSID          a change set that depends on this one
//   state TIME X WHY       a move to another state
//   output TEXT            output of the execution: conflicts, output of a gate
//
// The log is not synced, because everything in it except the output is also in the job files.
// rebuild() restores it from them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"

namespace quarry::changes {

inline constexpr std::size_t kMaxLog = std::size_t{4} << 20;  // bytes; further output is dropped

struct LogRecord {
  std::optional<ChangeSetName> name;
  std::vector<ChangeSetId> supports;
  std::string output;
};

class ChangeLog {
 public:
  /// DIRECTORIES must outlive this object.
  explicit ChangeLog(const Directories& directories) : directories_(directories) {}

  /// Begins the log of a new job: writes its name and dependencies, and adds a `supports` line to
  /// the log of each dependency.
  base::Result<void> begin(const Job& job) const;
  /// Appends the last line of JOB's history.
  base::Result<void> note(const Job& job) const;
  /// Appends output of the execution of ID, which may have several lines. Truncated when the log
  /// is full.
  base::Result<void> say(const ChangeSetId& id, std::string_view text) const;
  /// Reads the log of ID. Lines that LogRecord does not need are skipped. Errors: kNotFound, those
  /// of file operations.
  base::Result<LogRecord> read(const ChangeSetId& id) const;
  /// The name of ID's job. nullopt if it is not at the beginning of the log.
  std::optional<ChangeSetName> name_of(const ChangeSetId& id) const;
  /// Writes JOB's log again. Keeps its output and its `supports` lines, and adds missing `supports`
  /// lines to the logs of its dependencies.
  base::Result<void> rebuild(const Job& job) const;

 private:
  base::Result<void> append(const ChangeSetId& id, std::string_view text, bool is_bounded) const;

  const Directories& directories_;
};

}  // namespace quarry::changes
