#include "prequeue.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

std::vector<Result<Meta>> Checker::check_all(std::span<const Case> cases) {
  std::vector<Result<Meta>> metas;
  for (const Case& each : cases) {
    metas.push_back(check(each.name, each.tarball, each.submission));
  }
  return metas;
}

Result<void> Prequeue::move(JobLock lock, Stage to, std::string_view why) {
  QUARRY_TRY(moving_.add(std::move(lock), to, context_.clock.now(), why));
  return moving_.size() < JointMove::kMost ? Result<void>() : commit();
}

/// Makes the moves that are left to be made.
Result<void> Prequeue::commit() {
  Result<void> done;
  if (moving_.size() == 0) return done;
  for (JointMove::Member& moved : context_.move(moving_)) {
    if (!moved.outcome) done = std::move(moved.outcome);
  }
  // What follows need not wait: after a machine's end the file that has lived longer counts.
  context_.wake(Trigger::kQueue);
  return done;
}

/// Takes NAME in hand. Nothing: there is nothing to look at.
Result<std::optional<Prequeue::Sight>> Prequeue::take(const ChangeSetName& name) {
  auto lock = context_.directories.lock_job(Stage::kPrequeue, name);
  if (!lock) {
    if (lock.error().code != ErrorCode::kCorrupt) return std::unexpected(std::move(lock).error());
    context_.log(lock.error());
    QUARRY_TRY(context_.directories.put_aside(Stage::kPrequeue, name));
    return std::nullopt;
  }
  // One that failed for its tarball, and is tried again, is looked at again.
  if (!lock->is_new() && lock->job.meta.check()) {
    QUARRY_TRY(move(std::move(*lock), Stage::kQueue, "ready as it came"));
    return std::nullopt;
  }
  auto submission = context_.directories.submission_of(name);
  if (!submission && is_passing(submission.error())) {
    return std::unexpected(std::move(submission).error());
  }
  Sight sight{.lock = std::move(*lock), .to_check = {}, .reason = {}};
  if (!submission) {
    sight.reason = std::move(submission).error();
    return sight;
  }
  Job& job = sight.lock.job;
  job.submitter = submission->submitter;
  job.capabilities = submission->capabilities;
  job.address = submission->address;
  if (sight.lock.is_new()) {
    job.add_history(submission->time, Stage::kPrequeue, "submitted");
  }
  sight.to_check = {.name = name,
                    .tarball = context_.directories.tarball_of(name),
                    .submission = std::move(*submission)};
  return sight;
}

/// Moves SIGHT to where META leads.
Result<void> Prequeue::judge(Sight sight, Result<Meta> meta) {
  if (!meta && is_passing(meta.error())) return std::unexpected(std::move(meta).error());
  if (meta && meta->type != sight.lock.job.name.type) {
    meta = base::fail(ErrorCode::kInvalid, "its meta file has another move type than its name");
  }
  if (!meta && (!sight.to_check || meta.error().code == ErrorCode::kNotFound)) {
    // Not the submitter's fault: a file of the queue is gone, or was changed.
    context_.log(meta.error());
    meta.error().message = kServersTrouble;
  }
  if (!meta) return move(std::move(sight.lock), Stage::kFail, meta.error().message);
  sight.lock.job.meta = std::move(*meta);
  // Who goes before whom is for the queue to find out.
  sight.lock.job.meta.precursors.clear();
  return move(std::move(sight.lock), Stage::kQueue, "checked");
}

/// Looks at NAMES, no more than may move at once. One that cannot be dealt with now keeps the others
/// from nothing.
Result<void> Prequeue::look_at(std::span<const ChangeSetName> names) {
  Result<void> done;
  const auto note = [&](Result<void> looked) {
    if (looked || looked.error().code == ErrorCode::kNotFound) return;
    context_.log(looked.error());
    done = std::move(looked);
  };
  std::vector<Sight> sights;
  std::vector<Checker::Case> cases;
  for (const ChangeSetName& name : names) {
    auto sight = take(name);
    if (!sight) note(std::unexpected(std::move(sight).error()));
    if (!sight || !*sight) continue;
    if ((*sight)->to_check) cases.push_back(*(*sight)->to_check);
    sights.push_back(std::move(**sight));
  }
  auto metas = checker_.check_all(cases);
  auto meta = metas.begin();
  for (Sight& sight : sights) {
    const bool is_checked = sight.to_check.has_value();
    Result<Meta> result = std::unexpected(sight.reason);
    if (is_checked) result = std::move(*meta++);
    note(judge(std::move(sight), std::move(result)));
  }
  note(commit());
  return done;
}

Result<void> Prequeue::run(Scan /*scan*/) {
  QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(Stage::kPrequeue));
  Result<void> done;
  for (std::size_t i = 0; i < names.size(); i += JointMove::kMost) {
    const std::size_t count = std::min(JointMove::kMost, names.size() - i);
    if (auto looked = look_at(std::span(names).subspan(i, count)); !looked)
      done = std::move(looked);
  }
  if (names.empty()) return done;
  auto synced = context_.directories.sync_folders();
  return synced ? done : synced;
}

}  // namespace quarry::changes
