// Step 2: what was submitted becomes a job in queue/, or fails for what is wrong with it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "work.h"

namespace quarry::changes {

class Prequeue final : public Work {
 public:
  Prequeue(const Desk& desk, Checker& checker)
      : desk_(desk), checker_(checker), moving_(desk.directories) {}
  base::Result<void> begin() override { return desk_.directories.recover(desk_.clock.now()); }
  base::Result<void> run(Scan scan) override;

 private:
  /// One that is looked at.
  struct Sight {
    JobLock lock;
    std::optional<Checker::Case> to_check;  // nothing: REASON is why not
    base::Error reason;
  };
  base::Result<std::optional<Sight>> take(const ChangeSetName& name);
  base::Result<void> look_at(std::span<const ChangeSetName> names);
  base::Result<void> judge(Sight sight, base::Result<Meta> meta);
  base::Result<void> move(JobLock lock, Stage to, std::string_view why);
  base::Result<void> commit();

  Desk desk_;
  Checker& checker_;
  JointMove moving_;
};

}  // namespace quarry::changes
