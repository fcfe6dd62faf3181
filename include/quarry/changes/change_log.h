// What is known of a change set, in a file of its own: BASE/log/CSID, to which everybody appends whole
// lines. By it the change set is found at once, and so is what it depends on and what depends on it.
//
//   name NAME              of its job
//   depends CSID           on that; of a rollback: it takes that back
//   supports CSID          that depends on it
//   state TIME X WHY       it came to that state
//   output TEXT            said by what executed it: conflicts, a gate's output
//
// It is not synced: all of it but the output is in the job files, and rebuild() makes it from them.
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

inline constexpr std::size_t kMostLog = std::size_t{4} << 20;  // bytes; no output beyond

struct LogRecord {
  std::optional<ChangeSetName> name;
  std::vector<ChangeSetId> depends;
  std::vector<ChangeSetId> supports;
  std::vector<HistoryLine> states;
  std::string output;
};

class ChangeLog {
 public:
  /// DIRECTORIES must outlive it.
  explicit ChangeLog(const Directories& directories) : directories_(directories) {}

  /// JOB is new: its name, what it depends on, and so what that supports.
  base::Result<void> begin(const Job& job) const;
  /// The last line of JOB's history.
  base::Result<void> note(const Job& job) const;
  /// TEXT, of any number of lines, from what executes ID. It is cut where the file is full.
  base::Result<void> say(const ChangeSetId& id, std::string_view text) const;
  /// Errors: kNotFound; those of files. Lines that are none of the above are passed over.
  base::Result<LogRecord> read(const ChangeSetId& id) const;
  /// The name of ID's job, where its file says it at once; nothing otherwise.
  std::optional<ChangeSetName> name_of(const ChangeSetId& id) const;
  /// JOB's file anew, with the output that it had; what it supports is kept, and told to those that
  /// it depends on where they don't say so.
  base::Result<void> rebuild(const Job& job) const;

 private:
  base::Result<void> append(const ChangeSetId& id, std::string_view text, bool is_bounded) const;

  const Directories& directories_;
};

}  // namespace quarry::changes
