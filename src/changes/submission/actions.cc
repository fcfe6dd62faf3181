#include "quarry/changes/actions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/hex.h"
#include "quarry/base/log.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/moved.h"
#include "quarry/changes/triggers.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::array<std::string_view, 6> kActionNames = {"approve", "hold",  "release",
                                                          "abandon", "retry", "terminate"};
constexpr std::array<std::string_view, 6> kDone = {"approved",  "held",    "released",
                                                   "abandoned", "retried", "terminated"};
// Number of attempts to lock a job. Except during execution, a daemon holds the lock of a job only
// briefly.
constexpr int kTries = 40;
constexpr std::chrono::milliseconds kBetweenTries{25};
constexpr std::size_t kMaxText = 500;
constexpr std::size_t kBaseDigits = 10;  // as in fossil

bool waits(Stage stage) {
  return stage == Stage::kQueue || stage == Stage::kStaging || stage == Stage::kPending;
}

bool may_be_in(Action action, Stage stage) {
  switch (action) {
    case Action::kRetry:
      return stage == Stage::kFail || stage == Stage::kTerm || stage == Stage::kAbandon;
    case Action::kTerminate:
      return false;  // kTerminate is possible only in run/; see stop()
    default:
      return waits(stage);
  }
}

std::string_view done_of(Action action) {
  return kDone[static_cast<std::size_t>(action)];
}

std::unexpected<Error> already(const Job& job, std::string_view what) {
  return fail(ErrorCode::kConflict, "change set {} is {}", job.name.id.str(), what);
}

std::unexpected<Error> already_approved(const Job& job) {
  return already(job, fmt::format("already approved by {}", job.approver));
}

Result<void> approve(const ActionRequest& request, Job& job) {
  if (!job.approver.empty()) return already_approved(job);
  job.approver = one_line(request.login, kMaxText);
  if (!request.text.empty()) job.meta.approval = one_line(request.text, kMaxText);
  return {};
}

Result<void> hold(const ActionRequest& request, Job& job) {
  if (!job.held.empty()) return already(job, fmt::format("already held by {}", job.held));
  job.held = request.login;
  if (!request.text.empty()) job.held += ": " + one_line(request.text, kMaxText);
  return {};
}

/// Returns the error for a job that another process has locked.
std::unexpected<Error> in_hand(const JobLocation& location) {
  return fail(ErrorCode::kBusy, "change set {} is being {}: try again", location.name.id.str(),
              location.stage == Stage::kPrequeue ? "checked" : "moved");
}

Result<void> require_right(const ActionRequest& request, const Job& job,
                           const std::function<bool(const Job&)>& may) {
  if (!may || may(job)) return {};
  return fail(ErrorCode::kDenied, "user {} is not allowed to {} a change set submitted by {}",
              base::printable(request.login), word_of(request.action),
              base::printable(job.submitter));
}

/// Returns the text to record for REQUEST. If REQUEST retries the job, BASE is the job's base.
std::string why_of(const ActionRequest& request, std::string_view base = {}) {
  std::string why = fmt::format("{} by {}", done_of(request.action), request.login);
  if (!base.empty()) why += fmt::format(" on the same base, {}", base.substr(0, kBaseDigits));
  if (!request.text.empty()) why += ": " + one_line(request.text, kMaxText);
  return why;
}

/// Asks the execution daemon to stop the job at LOCATION, which is in run/.
Result<Job> stop(Directories& directories, const JobLocation& location,
                 const ActionRequest& request, base::UnixMillis now,
                 const std::function<bool(const Job&)>& may) {
  QUARRY_TRY_ASSIGN(Job job, directories.read(location.stage, location.name));
  QUARRY_TRY(require_right(request, job, may));
  const std::string_view word = request.action == Action::kTerminate ? "term" : "abandon";
  const std::string file = fmt::format("{}.{}", word, job.name.id.str());
  const std::string why = why_of(request);
  QUARRY_TRY(directories.replace_file(directories.control(file), why + "\n"));
  pull(directories.control(""), Trigger::kExecution);
  job.add_history(now, location.stage, "stop requested: " + why);
  return job;
}

/// Returns the error for an action on a running job, at LOCATION. Does not lock the job, because
/// the child that runs the job holds the lock.
std::unexpected<Error> refuse_running(const Directories& directories, const JobLocation& location,
                                      const ActionRequest& request,
                                      const std::function<bool(const Job&)>& may) {
  auto job = directories.read(location.stage, location.name);
  if (!job) return std::unexpected(std::move(job).error());
  if (auto denied = require_right(request, *job, may); !denied) {
    return std::unexpected(std::move(denied).error());
  }
  if (request.action == Action::kApprove && !job->approver.empty()) return already_approved(*job);
  return fail(ErrorCode::kConflict, "change set {} cannot be {}: it is running", job->name.id.str(),
              done_of(request.action));
}

Result<Job> act_on(Directories& directories, const JobLocation& location,
                   const ActionRequest& request, base::UnixMillis now,
                   const std::function<bool(const Job&)>& may) {
  const bool is_stop = request.action == Action::kAbandon || request.action == Action::kTerminate;
  if (is_stop && location.stage == Stage::kRun)
    return stop(directories, location, request, now, may);
  // No action is possible in prequeue/, because the data of an unchecked job is not known.
  if (location.stage == Stage::kPrequeue) return in_hand(location);
  if (location.stage == Stage::kRun) return refuse_running(directories, location, request, may);
  QUARRY_TRY_ASSIGN(JobLock held, directories.lock_job(location.stage, location.name));
  QUARRY_TRY(require_right(request, held.job, may));
  QUARRY_TRY_ASSIGN(const ActionOutcome outcome, decide(request, location.stage, held.job));
  QUARRY_TRY(held.move(outcome.stage, now, outcome.why));
  if (outcome.stage == Stage::kPrequeue) pull(directories.control(""), Trigger::kPrequeue);
  const auto noted = note_move(directories, held.job, location.stage, outcome.stage);
  if (!noted) base::log(base::LogLevel::kWarning, "{}", noted.error().message);
  return std::move(held.job);
}

}  // namespace

std::string_view word_of(Action action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

std::optional<Action> action_named(std::string_view word) {
  const auto at = std::ranges::find(kActionNames, word);
  if (at == kActionNames.end()) return std::nullopt;
  return static_cast<Action>(at - kActionNames.begin());
}

bool may_do(const Rights& rights, Action action, const Actor& actor, const Job& job) {
  const bool is_author = !job.meta.author.empty() && job.meta.author == actor.login;
  if (action == Action::kApprove && is_author) return false;
  return may(rights, right_for(action), actor, job.submitter);
}

Right right_for(Action action) {
  switch (action) {
    case Action::kApprove:
      return Right::kApprove;
    case Action::kHold:
    case Action::kRelease:
      return Right::kHold;
    case Action::kAbandon:
    case Action::kTerminate:
      return Right::kAbandon;
    case Action::kRetry:
      break;
  }
  return Right::kRetry;
}

Result<ActionOutcome> decide(const ActionRequest& request, Stage stage, Job& job) {
  const Action action = request.action;
  if (!may_be_in(action, stage)) {
    return fail(ErrorCode::kConflict, "change set {} cannot be {}: its state is {}",
                job.name.id.str(), done_of(action), word_of(stage));
  }
  ActionOutcome outcome{.stage = Stage::kQueue, .why = {}};
  switch (action) {
    case Action::kApprove:
      QUARRY_TRY(approve(request, job));
      break;
    case Action::kHold:
      QUARRY_TRY(hold(request, job));
      break;
    case Action::kRelease:
      if (job.held.empty()) return already(job, "not held");
      job.held.clear();
      break;
    case Action::kAbandon:
      outcome.stage = Stage::kAbandon;
      break;
    case Action::kTerminate:
      outcome.stage = Stage::kTerm;
      break;
    case Action::kRetry:
      job.crashes = 0;
      job.deferrals = 0;
      // Clear the precursors, because the queueing daemon determines them again.
      job.meta.precursors.clear();
      // Check the job again if it failed its check.
      if (!job.is_checked()) outcome.stage = Stage::kPrequeue;
      break;
  }
  outcome.why = why_of(request, action == Action::kRetry ? job.meta.base : std::string_view());
  return outcome;
}

bool is_possible(Action action, Stage stage, const Job& job) {
  const bool is_stop = action == Action::kAbandon || action == Action::kTerminate;
  if (stage == Stage::kRun || stage == Stage::kPrequeue) return is_stop && stage == Stage::kRun;
  Job changed = job;
  return decide({.action = action, .login = {}, .text = {}}, stage, changed).has_value();
}

Result<Job> act(Directories& directories, const ChangeSetId& id, const ActionRequest& request,
                base::UnixMillis now, const std::function<bool(const Job&)>& may) {
  for (int tries = 1;; ++tries) {
    QUARRY_TRY_ASSIGN(const auto location, directories.find(id));
    if (!location) return std::unexpected(not_here(id.str()));
    auto done = act_on(directories, *location, request, now, may);
    if (done) return done;
    // Try again if the job has moved, or is about to move.
    const bool may_pass =
        done.error().code == ErrorCode::kNotFound || done.error().code == ErrorCode::kBusy;
    if (!may_pass) return done;
    if (tries == kTries) return in_hand(*location);
    std::this_thread::sleep_for(kBetweenTries);
  }
}

namespace {

/// Finds the job ID by the name in its log, because listing folders with many files is slower.
std::optional<JobLocation> find_by_log(const Directories& directories, const ChangeSetId& id) {
  auto name = ChangeLog(directories).name_of(id);
  if (!name || name->id != id) return std::nullopt;
  const auto stage = directories.stage_of(*name);
  if (!stage || !*stage) return std::nullopt;
  return JobLocation{.stage = **stage, .name = std::move(*name)};
}

}  // namespace

Result<JobLocation> find_one(const Directories& directories, std::string_view digits) {
  if (digits.empty() || digits.size() > 16 || !base::is_hex(digits)) {
    return fail(ErrorCode::kInvalid, "\"{}\" is neither a change-set id nor a prefix of an id",
                base::printable(digits));
  }
  if (const auto id = ChangeSetId::parse(digits)) {
    if (auto location = find_by_log(directories, *id)) return std::move(*location);
  }
  const auto all = directories.find_all(digits);
  // The folders of a queue that was never used do not exist.
  if (!all && all.error().code != ErrorCode::kNotFound) return std::unexpected(all.error());
  const auto found = all.value_or(std::vector<JobLocation>());
  if (found.empty()) return std::unexpected(not_here(digits));
  if (found.size() == 1) return found.front();
  std::string names;
  for (const JobLocation& each : found) {
    if (names.size() > 100) break;
    names += fmt::format(" {}", each.name.id.str());
  }
  return fail(ErrorCode::kLimit, "{} change sets begin with {}:{}", found.size(), digits, names);
}

}  // namespace quarry::changes
