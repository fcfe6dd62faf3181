// Moves by those who are no daemon, and so tell no courier of them: whoever holds, approves, retries
// or abandons a job (actions.h) leaves a note, and the queueing daemon tells of it.
//
//   BASE/ctrl/moved.CSID.TIME   FROM TO NAME
//
// A note is not synced: what is told is told once, if nothing stops in between.
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
  Job job;  // as it was then: its history ends with the move
  Stage from = Stage::kQueue;
  Stage to = Stage::kQueue;
};

/// JOB has been moved FROM one stage TO another; the last line of its history says so.
base::Result<void> note_move(Directories& directories, const Job& job, Stage from, Stage to);
/// Takes all notes that there are, in the order of their times.
base::Result<std::vector<Moved>> take_moves(Directories& directories);

/// The job of NAME, wherever it is by now; nothing: nowhere, or it cannot be read. It may move on
/// while one looks, but not each time.
std::optional<std::pair<Stage, Job>> job_anywhere(const Directories& directories,
                                                  const ChangeSetName& name);

}  // namespace quarry::changes
