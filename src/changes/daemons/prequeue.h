// Checks each submission. A valid submission moves to queue/ as a job. An invalid submission fails,
// and the reason is recorded.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "queue_worker.h"

namespace quarry::changes {

class Prequeue final : public QueueWorker {
 public:
  Prequeue(const DaemonContext& context, Checker& checker)
      : context_(context), checker_(checker), moving_(context.directories) {}
  Result<void> begin() override { return context_.directories.recover(context_.clock.now()); }
  Result<void> run(Scan scan) override;

 private:
  /// A job that is being checked.
  struct Candidate {
    JobLock lock;
    std::optional<Checker::Case> to_check;  // nullopt if it is unreadable; see `reason`
    Error reason;
  };
  Result<std::optional<Candidate>> take(const ChangeSetName& name);
  Result<void> check_all(std::span<const ChangeSetName> names);
  Result<void> aim(Meta& meta) const;
  Result<void> judge(Candidate candidate, Checker::Checked checked);
  Result<void> move(JobLock lock, Stage to, std::string_view why);
  Result<void> commit();
  Result<void> answer_diff_request();

  DaemonContext context_;
  Checker& checker_;
  JointMove moving_;
  std::set<std::string> logged_;  // errors about unusable files
};

}  // namespace quarry::changes
