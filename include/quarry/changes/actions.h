// What people do to a change set that is in the queue, beside submitting it.
//
//   approve   it has an approval, with a reference                     queue staging pending
//   hold      it is not executed until it is released                  queue staging pending
//   release                                                            queue staging pending
//   abandon   it goes to abandon/                                      queue staging pending run
//   terminate it goes to term/                                         run
//   retry     it goes on as if it had not failed                       fail term abandon
//
// Each is a change of the job file by who holds it (directories.h), with a line of history that says
// who did it. But for abandon it goes to queue/ then, where the queueing daemon reads it anew: whoever
// does this has to pull that one's trigger. One that runs is stopped by the execution daemon, which is
// told of it by a file ctrl/abandon.CSID or ctrl/term.CSID; what has landed by then has landed.
//
// Used by workers for others (who may is asked in between), and by `quarry queue` for the queue's own
// user, who may do everything.
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
/// "approve" and so on.
std::string_view word_of(Action action);
std::optional<Action> action_named(std::string_view word);
Deed deed_of(Action action);
/// Whether ACTOR may do it to JOB: an approval is no author's own either.
bool may_do(const Rights& rights, Action action, const Actor& actor, const Job& job);

struct ActionRequest {
  Action action = Action::kHold;
  std::string login;  // who does it
  std::string text;   // approve: the reference; others: why; may be empty
};

/// What an action makes of JOB, which is in STAGE: JOB is changed, and the stage that it goes to is
/// returned, with what its history says. Pure. Errors: kInvalid (it makes no sense there), kConflict
/// (it is so already).
struct ActionOutcome {
  Stage stage = Stage::kQueue;
  std::string why;
};
base::Result<ActionOutcome> decide(const ActionRequest& request, Stage stage, Job& job);

/// Does it to the change set of ID. MAY is asked with the job that is found, and may be empty.
/// Returns the job; the last line of its history says what was done, or asked for. Errors: kNotFound;
/// kDenied; kBusy (it is being executed or moved: what is to be done about it); those of decide()
/// and of files.
base::Result<Job> act(Directories& directories, const ChangeSetId& id, const ActionRequest& request,
                      base::UnixMillis now, const std::function<bool(const Job&)>& may);

/// The one change set whose id begins with DIGITS. Errors: kInvalid (no digits), kNotFound, kLimit
/// (several: which).
base::Result<JobLocation> find_one(const Directories& directories, std::string_view digits);

}  // namespace quarry::changes
