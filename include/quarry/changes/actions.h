// Actions on a change set that is already in the queue.
//
//   approve   records the approver, and a reference to the approval    queue staging pending
//   hold      prevents execution until it is released                  queue staging pending
//   release   ends a hold                                              queue staging pending
//   abandon   moves the job to abandon/                                queue staging pending run
//   terminate moves the job to term/                                   run
//   retry     queues the job again as if it had not failed             fail term abandon
//
// Each action changes the job file under its lock (directories.h) and adds a line of history with
// the user's name. All actions except abandon and terminate move the job to queue/, where the
// queueing daemon reads it again. The caller then has to wake the queueing daemon (triggers.h). To
// stop a running job, the action writes a file ctrl/abandon.CSID or ctrl/term.CSID for the
// execution daemon. If the change set has already landed when the daemon reads the file, the change
// set stays landed.
//
// Workers use these functions for remote users, and check the users' rights. `quarry queue` uses
// them for the owner of the queue, who has all rights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"
#include "quarry/changes/rights.h"

namespace quarry::changes {

enum class Action : std::uint8_t { kApprove, kHold, kRelease, kAbandon, kRetry, kTerminate };
/// Returns the name of ACTION: "approve", "hold" and so on.
std::string_view word_of(Action action);
std::optional<Action> action_named(std::string_view word);
Right right_for(Action action);
/// Returns whether ACTOR is allowed to apply ACTION to JOB. Nobody is allowed to approve a change
/// set that they wrote themselves, not even a user with the right to approve.
bool may_do(const Rights& rights, Action action, const Actor& actor, const Job& job);

struct ActionRequest {
  Action action = Action::kHold;
  std::string login;  // the user
  std::string text;   // for approve: the reference; otherwise: the reason; may be empty
};

struct ActionOutcome {
  Stage stage = Stage::kQueue;
  std::string why;
};
/// Applies REQUEST to JOB, which is in STAGE. Changes JOB in memory, and returns the stage to which
/// to move the job and the reason to record in its history. Does not change any file. Error:
/// kConflict (the action is not possible in this stage, or JOB is already in the requested state).
Result<ActionOutcome> decide(const ActionRequest& request, Stage stage, Job& job);

/// Returns whether act() can apply ACTION to JOB, which is in STAGE.
bool is_possible(Action action, Stage stage, const Job& job);

/// Applies REQUEST to the change set ID. MAY is called with the job, and has to return whether the
/// user has the right to apply the action. MAY is optional. Returns the job; the last line of its
/// history says what was done or requested. Errors: kNotFound, kDenied, kBusy (the job is being
/// executed or moved; the message says what to do), errors from decide() and file operations.
Result<Job> act(Directories& directories, const ChangeSetId& id, const ActionRequest& request,
                base::UnixMillis now, const std::function<bool(const Job&)>& may);

/// Returns the change set whose id begins with DIGITS. Errors: kInvalid (not digits), kNotFound,
/// kLimit (several ids match; the message lists them).
Result<JobLocation> find_one(const Directories& directories, std::string_view digits);

}  // namespace quarry::changes
