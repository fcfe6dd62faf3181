// Notes about moves that were made by other processes than the daemons. Only the daemons send
// events, so a process that holds, approves, retries or abandons a job (actions.h) leaves a note,
// and the queueing daemon reports the move.
//
//   BASE/ctrl/moved.CSID.TIME   FROM TO NAME
//
// Notes are not synced: each move is reported once, unless a crash occurs before that.
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
  Job job;  // as it was after the move: the last line of its history is this move
  Stage from = Stage::kQueue;
  Stage to = Stage::kQueue;
};

/// Records that JOB has moved from the stage FROM to the stage TO. The last line of its history has
/// the reason.
base::Result<void> note_move(Directories& directories, const Job& job, Stage from, Stage to);
/// Reads and removes notes, oldest first. Returns a limited number of them per call.
base::Result<std::vector<Moved>> take_moves(Directories& directories);

/// The job NAME in its current stage; nullopt if it does not exist or cannot be read. Searches
/// twice, since the job may move meanwhile.
std::optional<std::pair<Stage, Job>> job_anywhere(const Directories& directories,
                                                  const ChangeSetName& name);

}  // namespace quarry::changes
