// Notes about moves made by other processes than the daemons. Only the daemons send events: a
// process that holds, approves, retries or abandons a job (actions.h) leaves a note, and the
// queueing daemon reports it.
//
//   BASE/ctrl/moved.CSID.TIME   FROM TO NAME
//
// Notes are not synced: each move is reported once, unless something crashes in between.
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
  Job job;  // at that time: its history ends with the move
  Stage from = Stage::kQueue;
  Stage to = Stage::kQueue;
};

/// Notes that JOB has moved FROM one stage TO another; the last line of its history has the
/// reason.
base::Result<void> note_move(Directories& directories, const Job& job, Stage from, Stage to);
/// Reads and removes the notes, oldest first; a limited number at once.
base::Result<std::vector<Moved>> take_moves(Directories& directories);

/// The job NAME in its current stage; nothing if it is gone or cannot be read. Searches twice,
/// since the job may move meanwhile.
std::optional<std::pair<Stage, Job>> job_anywhere(const Directories& directories,
                                                  const ChangeSetName& name);

}  // namespace quarry::changes
