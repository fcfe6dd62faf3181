#include "queue_worker.h"

#include "quarry/base/log.h"

namespace quarry::changes {

Result<void> DaemonContext::move(JobLock& lock, Stage to, std::string_view why) const {
  const Stage from = lock.stage();
  QUARRY_TRY(lock.move(to, clock.now(), why));
  record_move(lock.job, from, to);
  return {};
}

std::vector<JointMove::Member> DaemonContext::move(JointMove& move) const {
  std::vector<JointMove::Member> moved = move.commit();
  for (const JointMove::Member& each : moved) {
    if (each.outcome) record_move(each.lock.job, each.from, each.lock.stage());
  }
  return moved;
}

void DaemonContext::record_move(const Job& job, Stage from, Stage to) const {
  // The log can be rebuilt from the job file, so a failure is not an error.
  const ChangeLog changes(directories);
  const auto begun = from == Stage::kPrequeue ? changes.begin(job) : Result<void>();
  const auto noted = changes.note(job);
  if (!begun) log(begun.error());
  if (!noted) log(noted.error());
  if (report) report(options, job, from, to);
}

void DaemonContext::log(const Error& error) const {
  base::log(base::LogLevel::kError, "{}: {}", options.base.string(), error.message);
}

}  // namespace quarry::changes
