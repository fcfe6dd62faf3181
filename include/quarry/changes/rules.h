// The configured rules of a queue, and the decisions that follow from them. The functions do not
// access files.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/job.h"
#include "quarry/changes/model.h"

namespace quarry::changes {

struct Rules {
  std::array<bool, kMoveTypes> needs_approval{};  // by move type
  std::uint32_t max_crashes = 3;                  // a job fails at this number of crashes
  std::uint32_t max_deferrals = 10;               // a job fails if it is deferred more often
  /// Delay after the first deferral. Each further deferral doubles the delay.
  std::chrono::milliseconds retry_delay{5'000};
  std::chrono::milliseconds longest_delay{300'000};
  /// Time after which finished jobs are deleted; 0 for never.
  std::chrono::milliseconds keep = std::chrono::hours{24 * 90};
  /// Maximum number of change sets that a rollback rolls back; at most kMaxReferences.
  std::size_t max_rollback = 100;
};

/// Returns the data of JOB, which is in STAGE, for the model.
ModelJob model_job_of(const Job& job, Stage stage, const Rules& rules);

/// The result of an execution. The values are exit codes of `quarry-changes execute`.
enum class Verdict : std::uint8_t {
  kLanded = 0,
  kSkipped = 99,      // another process executes the job, or the gate skipped it
  kFailed = 100,      // permanent failure
  kDeferred = 111,    // temporary failure
  kNoRoom = 112,      // a disk is full, or the gate cannot be run: never makes the job fail
  kTerminated = 15,   // SIGTERM
  kAbandoned = 1,     // SIGHUP
  kInterrupted = 10,  // SIGUSR1: the server stops, and the job is executed again later
  kGaveWay = 11,      // the batch was split up: a more urgent job is next
};

/// The next stage of a job, and the reason.
struct Step {
  Stage to = Stage::kPending;
  std::string why;
};
/// Returns the step after VERDICT. WHY is the reason for the verdict. Updates the counters of JOB.
Step step_after(Job& job, Verdict verdict, std::string why, const Rules& rules);
/// Returns the step after a crash: the child was killed by a signal, or exited without a verdict.
/// Updates the counters of JOB.
Step step_after_crash(Job& job, std::string how, const Rules& rules);

}  // namespace quarry::changes
