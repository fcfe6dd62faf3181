#include "work.h"

#include "quarry/base/log.h"

namespace quarry::changes {

base::Result<void> Desk::move(Hold& hold, Stage to, std::string_view why, Syncing syncing) const {
  const Stage from = hold.stage();
  QUARRY_TRY(hold.move(to, clock.now(), why, syncing));
  // The job file has it all; the log is made anew where it misses something.
  const ChangeLog changes(directories);
  const auto begun = from == Stage::kPrequeue ? changes.begin(hold.job) : base::Result<void>();
  const auto noted = changes.note(hold.job);
  if (!begun) log(begun.error());
  if (!noted) log(noted.error());
  if (report) report(options, hold.job, from, to);
  return {};
}

void Desk::log(const base::Error& error) const {
  base::log(base::LogLevel::kError, "{}: {}", options.base.string(), error.message);
}

}  // namespace quarry::changes
