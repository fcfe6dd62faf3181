#include "quarry/changes/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::changes {
namespace {

void set_retry_time(ModelJob& known, const Job& job, const Rules& rules) {
  if (job.deferrals == 0 || job.history.empty()) return;
  const std::uint32_t doublings = std::min(job.deferrals - 1, 20U);
  const auto delay = std::min(rules.retry_delay * (1 << doublings), rules.longest_delay);
  known.deferred_at = job.history.back().time;
  known.not_before = {known.deferred_at.value + delay.count()};
  known.deferral_reason = job.history.back().why;
}

}  // namespace

ModelJob model_job_of(const Job& job, Stage stage, const Rules& rules) {
  ModelJob known{.name = job.name,
                 .stage = stage,
                 .branch = job.meta.target,
                 .files = job.meta.files,
                 .dependencies = job.meta.dependencies,
                 .is_approved = true,
                 .held = job.held,
                 // In a stage that is not final, ignore rolled_back. It is left there by an
                 // interrupted move: either the job is about to be rolled back, or its rollback was
                 // undone.
                 .is_rolled_back = is_over(stage) && job.rolled_back.has_value(),
                 .goes_alone = job.crashes > 0 || job.deferrals > 0,
                 .deferred_at = {},
                 .not_before = {},
                 .deferral_reason = {},
                 .landed_at = {}};
  if (rules.needs_approval[static_cast<std::size_t>(job.name.type)]) {
    known.is_approved = !job.approver.empty();
  }
  if (stage == Stage::kPending) set_retry_time(known, job, rules);
  for (const HistoryLine& line : job.history) {
    if (stage == Stage::kDone && line.state == letter_of(stage) && known.landed_at.value == 0) {
      known.landed_at = line.time;
    }
  }
  return known;
}

Step step_after(Job& job, Verdict verdict, std::string why, const Rules& rules) {
  switch (verdict) {
    case Verdict::kLanded:
      return {.to = Stage::kDone, .why = std::move(why)};
    case Verdict::kTerminated:
      return {.to = Stage::kTerm, .why = std::move(why)};
    case Verdict::kAbandoned:
      return {.to = Stage::kAbandon, .why = std::move(why)};
    case Verdict::kSkipped:
    case Verdict::kDeferred:
      if (++job.deferrals <= rules.max_deferrals)
        return {.to = Stage::kPending, .why = std::move(why)};
      return {.to = Stage::kFail,
              .why = fmt::format("deferred {} times; last reason: {}", job.deferrals - 1, why)};
    case Verdict::kNoRoom:
      // Keep the count within the limit: this verdict increases the delay, but must never make the
      // job fail.
      job.deferrals = std::min(job.deferrals + 1, std::max(rules.max_deferrals, 1U));
      return {.to = Stage::kPending, .why = std::move(why)};
    case Verdict::kInterrupted:
      return {.to = Stage::kPending, .why = "interrupted, because its daemon stopped"};
    case Verdict::kGaveWay:
      return {.to = Stage::kPending, .why = "a more urgent change set goes first"};
    case Verdict::kFailed:
      break;
  }
  return {.to = Stage::kFail, .why = std::move(why)};
}

Step step_after_crash(Job& job, std::string how, const Rules& rules) {
  if (++job.crashes < rules.max_crashes) return {.to = Stage::kPending, .why = std::move(how)};
  return {.to = Stage::kFail,
          .why = fmt::format("it crashed {} times; last reason: {}", job.crashes, how)};
}

}  // namespace quarry::changes
