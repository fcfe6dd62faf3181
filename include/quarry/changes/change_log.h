// The log of a change set, BASE/log/CSID. Several processes append whole lines to it. The log is
// used for fast lookups of a job's name and of its dependents.
//
//   name NAME              name of the job
//   depends CSID           a dependency; for a rollback, a change set that it rolls back
//   supports CSID          a change set that depends on this change set
//   state TIME X WHY       a move to another state
//   output TEXT            output of the execution: conflicts, output of a gate
//
// The log is not flushed to disk, because the job files contain everything except the output.
// rebuild() restores the log from the job files.
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

inline constexpr std::size_t kMaxLog = std::size_t{4} << 20;  // bytes; later output is discarded

struct LogRecord {
  std::optional<ChangeSetName> name;
  std::vector<ChangeSetId> supports;
  std::string output;
  std::optional<base::UnixMillis> began;  // beginning of the last execution
};

class ChangeLog {
 public:
  /// DIRECTORIES must outlive this object.
  explicit ChangeLog(const Directories& directories) : directories_(directories) {}

  /// Begins the log of a new job: writes its name and dependencies, and adds a `supports` line to
  /// the log of each dependency.
  Result<void> begin(const Job& job) const;
  /// Appends the last line of JOB's history.
  Result<void> note(const Job& job) const;
  /// Appends TEXT to the log of ID. TEXT is output of the execution, and can have several lines. It
  /// is truncated if the log is full.
  Result<void> say(const ChangeSetId& id, std::string_view text) const;
  /// Reads the log of ID. Skips lines that are not part of LogRecord. Errors: kNotFound, errors
  /// from file operations.
  Result<LogRecord> read(const ChangeSetId& id) const;
  /// Returns the name of ID's job, or nullopt if the log does not contain the name.
  std::optional<ChangeSetName> name_of(const ChangeSetId& id) const;
  /// Writes the log of JOB again. Keeps the output and the `supports` lines of the log. Adds
  /// missing `supports` lines to the logs of JOB's dependencies.
  Result<void> rebuild(const Job& job) const;

 private:
  Result<void> append(const ChangeSetId& id, std::string_view text, bool is_bounded) const;

  const Directories& directories_;
};

}  // namespace quarry::changes
