// Notes about moves of jobs by processes other than the daemons. Only the daemons send events.
// Therefore, a process that holds, approves, retries or abandons a job (actions.h) writes a note,
// and the queueing daemon reports the move.
//
//   BASE/ctrl/moved.CSID.TIME   FROM TO NAME
//
// Notes are not flushed to disk. Each move is reported once; a crash can lose a report.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"

namespace quarry::changes {

struct Moved {
  Job job;  // the job after the move; the last line of its history records the move
  Stage from = Stage::kQueue;
  Stage to = Stage::kQueue;
};

/// Records that JOB has moved from the stage FROM to the stage TO. The last line of JOB's history
/// has the reason.
Result<void> note_move(Directories& directories, const Job& job, Stage from, Stage to);
/// Reads and removes notes, oldest first. Returns a limited number of notes per call.
Result<std::vector<Moved>> take_moves(Directories& directories);

/// Returns the job NAME in its current stage, or nullopt if it does not exist or cannot be read.
/// Searches up to three times, because a search can miss a job that moves during the search.
std::optional<std::pair<Stage, Job>> job_anywhere(const Directories& directories,
                                                  const ChangeSetName& name);

}  // namespace quarry::changes
