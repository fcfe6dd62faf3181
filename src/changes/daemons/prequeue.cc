#include "prequeue.h"

#include <string>
#include <utility>

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::Result;

/// What may be otherwise at the next look.
bool is_passing(const base::Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kBusy ||
         error.code == ErrorCode::kNoSpace;
}

}  // namespace

Result<void> Prequeue::move(Hold hold, Stage to, std::string_view why) {
  QUARRY_TRY(moving_.add(std::move(hold), to, desk_.clock.now(), why));
  return moving_.size() < JointMove::kMost ? Result<void>() : commit();
}

/// Makes the moves that are left to be made.
Result<void> Prequeue::commit() {
  Result<void> done;
  if (moving_.size() == 0) return done;
  for (JointMove::Member& moved : desk_.move(moving_)) {
    if (!moved.outcome) done = std::move(moved.outcome);
  }
  // What follows need not wait: after a machine's end the file that has lived longer counts.
  desk_.tell(Trigger::kQueue);
  return done;
}

Result<void> Prequeue::look_at(const ChangeSetName& name) {
  auto hold = desk_.directories.hold(Stage::kPrequeue, name);
  if (!hold) {
    if (hold.error().code != ErrorCode::kCorrupt) return std::unexpected(std::move(hold).error());
    desk_.log(hold.error());
    return desk_.directories.put_aside(Stage::kPrequeue, name);
  }
  // One that failed for its tarball, and is tried again, is looked at again.
  if (!hold->is_new() && hold->job.meta.check()) {
    return move(std::move(*hold), Stage::kQueue, "ready as it came");
  }
  auto submission = desk_.directories.submission_of(name);
  if (!submission && is_passing(submission.error())) {
    return std::unexpected(std::move(submission).error());
  }
  Job& job = hold->job;
  Result<Meta> meta = std::unexpected(base::Error{.code = ErrorCode::kCorrupt, .message = {}});
  if (submission) {
    job.submitter = submission->submitter;
    job.capabilities = submission->capabilities;
    job.address = submission->address;
    job.add_history(submission->time, Stage::kPrequeue, "submitted");
    meta = checker_.check(name, desk_.directories.tarball_of(name), *submission);
  } else {
    meta = std::unexpected(std::move(submission).error());
  }
  if (!meta && is_passing(meta.error())) return std::unexpected(std::move(meta).error());
  if (meta && meta->type != name.type) {
    meta = base::fail(ErrorCode::kInvalid, "its meta file has another move type than its name");
  }
  if (!meta) {
    return move(std::move(*hold), Stage::kFail, meta.error().message);
  }
  job.meta = std::move(*meta);
  // Who goes before whom is for the queue to find out.
  job.meta.precursors.clear();
  return move(std::move(*hold), Stage::kQueue, "checked");
}

Result<void> Prequeue::run(Scan /*scan*/) {
  QUARRY_TRY_ASSIGN(const auto names, desk_.directories.list(Stage::kPrequeue));
  Result<void> done;
  for (const ChangeSetName& name : names) {
    auto looked = look_at(name);
    if (looked || looked.error().code == ErrorCode::kNotFound) continue;
    // One that cannot be dealt with now keeps the others from nothing.
    desk_.log(looked.error());
    done = std::move(looked);
  }
  if (names.empty()) return done;
  if (auto committed = commit(); !committed) {
    desk_.log(committed.error());
    done = std::move(committed);
  }
  auto settled = desk_.directories.settle();
  return settled ? done : settled;
}

}  // namespace quarry::changes
