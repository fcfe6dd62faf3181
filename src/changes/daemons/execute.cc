// What a child does with a job (step 8).

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/daemons.h"

namespace quarry::changes {
namespace {

Outcome outcome_of(Directories& directories, const Job& job, Executor& executor, const Stop& stop) {
  const ChangeLog log(directories);
  try {
    return executor.land(job, directories.tarball_of(job.name), stop, [&](std::string_view text) {
      const auto said = log.say(job.name.id, text);
      if (!said) base::log(base::LogLevel::kWarning, "{}", said.error().message);
    });
  } catch (const std::exception& error) {
    return {.verdict = Verdict::kFailed,
            .why = fmt::format("its execution broke off: {}", error.what()),
            .landed = {}};
  }
}

void note(const ChangeLog& log, const Job& job) {
  const auto noted = log.note(job);
  if (!noted) base::log(base::LogLevel::kWarning, "{}", noted.error().message);
}

}  // namespace

Verdict execute(Directories& directories, const ChangeSetName& name, Executor& executor,
                const Stop& stop, const Rules& rules, const base::Clock& clock) {
  auto hold = directories.hold(Stage::kPending, name);
  if (!hold || !hold->job.held.empty()) return Verdict::kSkipped;
  // Nothing is lost where a machine forgets this: the job is then in pending/, and what it has
  // landed is known by its tag.
  const auto taken = hold->move(Stage::kRun, clock.now(), "executed", Syncing::kNever);
  if (!taken) {
    base::log(base::LogLevel::kError, "{}", taken.error().message);
    return Verdict::kSkipped;
  }
  Job& job = hold->job;
  const ChangeLog log(directories);
  note(log, job);
  Outcome outcome = outcome_of(directories, job, executor, stop);
  if (outcome.landed) job.landed = outcome.landed;
  const bool is_stopped =
      outcome.verdict == Verdict::kTerminated || outcome.verdict == Verdict::kAbandoned;
  if (const auto why = is_stopped ? stop.why(name.id) : std::nullopt; why && !why->empty()) {
    outcome.why = *why;
  }
  const Step step = step_after(job, outcome.verdict, std::move(outcome.why), rules);
  const auto moved = hold->move(step.to, clock.now(), step.why, Syncing::kLater);
  if (moved) {
    note(log, job);
    return outcome.verdict;
  }
  // It stays in run/, where the daemon finds it without a holder, as after an abnormal end; what
  // has landed is known by its tag.
  base::log(base::LogLevel::kError, "{}", moved.error().message);
  return Verdict::kPutOff;
}

}  // namespace quarry::changes
