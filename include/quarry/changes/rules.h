// What a queue is configured to, and what it decides of a job by that: pure functions.
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
  std::uint32_t most_crashes = 3;                 // abnormal ends of a job before it fails
  std::uint32_t most_put_off = 10;                // temporary errors of a job before it fails
  std::chrono::milliseconds retry_delay{5'000};   // after the first of these; doubled each time
  std::chrono::milliseconds longest_delay{300'000};
  /// How long what is over is kept; 0: for ever.
  std::chrono::milliseconds keep = std::chrono::hours{24 * 90};
  std::size_t most_taken_back = 100;  // change sets by one rollback, at most kMostNamed
};

/// What JOB, in STAGE, is to the model.
ModelJob model_job_of(const Job& job, Stage stage, const Rules& rules);

/// How an execution ended. The values are the exit codes of `quarry-changes execute`.
enum class Verdict : std::uint8_t {
  kLanded = 0,
  kSkipped = 99,     // not to be done now: somebody else has it, or its gate says so
  kFailed = 100,     // it can't be done
  kPutOff = 111,     // a temporary error
  kNoRoom = 112,     // so is this, but none of the job's, which never fails for it: a disk is full
  kTerminated = 15,  // SIGTERM
  kAbandoned = 1,    // SIGHUP
};

/// Where a job goes.
struct Step {
  Stage to = Stage::kPending;
  std::string why;
};
/// After VERDICT, with WHY of whoever executed it; counts in JOB.
Step step_after(Job& job, Verdict verdict, std::string why, const Rules& rules);
/// After an end that was none: killed by a signal, an exit without a verdict. Counts in JOB.
Step step_after_crash(Job& job, std::string how, const Rules& rules);

}  // namespace quarry::changes
