#include "prequeue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "quarry/changes/explanation.h"

namespace quarry::changes {
namespace {

/// Returns whether ERROR might be temporary.
bool is_passing(const Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kBusy ||
         error.code == ErrorCode::kNoSpace;
}

}  // namespace

Result<void> Prequeue::move(JobLock lock, Stage to, std::string_view why) {
  QUARRY_TRY(moving_.add(std::move(lock), to, context_.clock.now(), why));
  return moving_.size() < JointMove::kMax ? Result<void>() : commit();
}

Result<void> Prequeue::commit() {
  Result<void> done;
  if (moving_.size() == 0) return done;
  for (JointMove::Member& moved : context_.move(moving_)) {
    if (!moved.outcome) done = std::move(moved.outcome);
  }
  // It is safe to wake the queueing daemon before the folders are synced. If a crash of the machine
  // then leaves two files of a job, the newer file is used.
  context_.wake(Trigger::kQueue);
  return done;
}

/// Locks NAME and prepares its check. Returns nullopt if the job need not be checked.
Result<std::optional<Prequeue::Candidate>> Prequeue::take(const ChangeSetName& name) {
  auto lock = context_.directories.lock_job(Stage::kPrequeue, name);
  if (!lock) {
    if (lock.error().code != ErrorCode::kCorrupt) return std::unexpected(std::move(lock).error());
    context_.log(lock.error());
    QUARRY_TRY(context_.directories.put_aside(Stage::kPrequeue, name));
    return std::nullopt;
  }
  if (!lock->is_new() && lock->job.is_checked()) {
    QUARRY_TRY(move(std::move(*lock), Stage::kQueue, "checked before"));
    return std::nullopt;
  }
  auto submission = context_.directories.submission_of(name);
  if (!submission && is_passing(submission.error())) {
    return std::unexpected(std::move(submission).error());
  }
  Candidate candidate{.lock = std::move(*lock), .to_check = {}, .reason = {}};
  if (!submission) {
    candidate.reason = std::move(submission).error();
    return candidate;
  }
  Job& job = candidate.lock.job;
  job.submitter = submission->submitter;
  job.capabilities = submission->capabilities;
  job.is_local = submission->is_local;
  job.address = submission->address;
  if (candidate.lock.is_new()) {
    job.add_history(submission->time, Stage::kPrequeue, "submitted");
  }
  candidate.to_check = {.name = name,
                        .tarball = context_.directories.tarball_of(name),
                        .submission = std::move(*submission)};
  return candidate;
}

/// If the change sets to roll back have landed, sets the branch of META, a rollback. The rollback
/// then waits while the branch is frozen. Error: kConflict (the change sets cannot be rolled back).
Result<void> Prequeue::aim(Meta& meta) const {
  const auto closure = rollback_closure(context_.directories, meta.dependencies,
                                        context_.options.rules.max_rollback);
  if (closure && closure->front().stage == Stage::kDone && meta.target.empty()) {
    const auto job = context_.directories.read(Stage::kDone, closure->front().name);
    if (job) meta.target = job->meta.target;
  }
  if (closure) return {};
  // The execution of the rollback handles other errors.
  const ErrorCode code = closure.error().code;
  const bool is_refused = code == ErrorCode::kNotFound || code == ErrorCode::kConflict;
  return is_refused ? fail(ErrorCode::kConflict, closure.error().message) : Result<void>();
}

/// Moves the job of CANDIDATE according to CHECKED, the result of its check.
Result<void> Prequeue::judge(Candidate candidate, Checker::Checked checked) {
  Result<void>& verdict = checked.verdict;
  if (!verdict && is_passing(verdict.error())) return verdict;
  if (verdict && checked.meta.type != candidate.lock.job.name.type) {
    checked = {.meta = {},
               .verdict = fail(
                   ErrorCode::kInvalid,
                   "the move type in the meta file differs from the move type in the job's name")};
  }
  if (verdict && checked.meta.type == MoveType::kRollback) {
    if (auto aimed = aim(checked.meta); !aimed) checked = {.meta = {}, .verdict = std::move(aimed)};
  }
  if (!verdict && (!candidate.to_check || verdict.error().code == ErrorCode::kNotFound)) {
    // A file of the queue is missing or was changed, which is not the submitter's fault. Log the
    // error, and show the submitter only a general message.
    context_.log(verdict.error());
    verdict.error().message = kServersTrouble;
  }
  candidate.lock.job.meta = std::move(checked.meta);
  // Set the move type, because a refused submission can lack it, and Job::parse() requires the type
  // in the file's name.
  candidate.lock.job.meta.type = candidate.lock.job.name.type;
  // Discard precursors from the submission, because the queueing daemon determines them.
  candidate.lock.job.meta.precursors.clear();
  if (!verdict) {
    candidate.lock.job.meta.base.clear();  // only a checked job has a base; see Job::is_checked()
    return move(std::move(candidate.lock), Stage::kFail, verdict.error().message);
  }
  return move(std::move(candidate.lock), Stage::kQueue, "checked");
}

/// Checks NAMES, at most JointMove::kMax. If a check fails, the other checks are not affected.
Result<void> Prequeue::check_all(std::span<const ChangeSetName> names) {
  Result<void> done;
  const auto note = [&](Result<void> checked) {
    if (checked || checked.error().code == ErrorCode::kNotFound) return;
    if (is_unusable(checked.error())) {
      if (logged_.insert(checked.error().message).second) context_.log(checked.error());
      return;
    }
    context_.log(checked.error());
    done = std::move(checked);
  };
  std::vector<Candidate> candidates;
  std::vector<Checker::Case> cases;
  for (const ChangeSetName& name : names) {
    auto candidate = take(name);
    if (!candidate) note(std::unexpected(std::move(candidate).error()));
    if (!candidate || !*candidate) continue;
    if ((*candidate)->to_check) cases.push_back(*(*candidate)->to_check);
    candidates.push_back(std::move(**candidate));
  }
  auto results = checker_.check_all(cases);
  auto result = results.begin();
  for (Candidate& candidate : candidates) {
    Checker::Checked checked{.meta = {}, .verdict = std::unexpected(candidate.reason)};
    if (candidate.to_check) checked = std::move(*result++);
    note(judge(std::move(candidate), std::move(checked)));
  }
  note(commit());
  return done;
}

/// Computes one requested diff, so that other requests do not delay submissions.
Result<void> Prequeue::answer_diff_request() {
  Directories& directories = context_.directories;
  QUARRY_TRY_ASSIGN(const auto files, directories.files().list(directories.control("")));
  const auto request =
      std::ranges::find_if(files, [](const auto& file) { return file.starts_with(kDiffRequest); });
  if (request == files.end()) return {};
  // Remove the request first, so that it is not repeated after a crash.
  QUARRY_TRY(directories.files().remove(directories.control(*request)));
  context_.wake(Trigger::kPrequeue);
  const auto id = ChangeSetId::parse(std::string_view(*request).substr(kDiffRequest.size()));
  QUARRY_TRY_ASSIGN(const auto location, id ? directories.find(*id) : std::nullopt);
  if (!location) return {};
  QUARRY_TRY_ASSIGN(const Job job, directories.read(location->stage, location->name));
  // Do not compute the diff of an unchecked job: its base is not known yet, and a wrong diff would
  // be kept.
  const bool is_early = location->stage == Stage::kPrequeue || location->stage == Stage::kFail;
  if (is_early && !job.is_checked()) return {};
  auto diff = checker_.diff(job, directories.tarball_of(job.name));
  if (!diff) {
    context_.log(diff.error());
    diff = std::string(kServersTrouble);
  }
  return directories.replace_file(directories.diff_of(job.name), *diff);
}

Result<void> Prequeue::run(Scan /*scan*/) {
  QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(Stage::kPrequeue));
  Result<void> done;
  for (std::size_t i = 0; i < names.size(); i += JointMove::kMax) {
    const std::size_t count = std::min(JointMove::kMax, names.size() - i);
    if (auto checked = check_all(std::span(names).subspan(i, count)); !checked)
      done = std::move(checked);
  }
  if (const auto answered = answer_diff_request(); !answered) context_.log(answered.error());
  if (names.empty()) return done;
  auto synced = context_.directories.sync_folders();
  return synced ? done : synced;
}

}  // namespace quarry::changes
