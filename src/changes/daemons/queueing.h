// Finds the precursors of each job. Moves jobs that can run to pending/, and jobs that can never
// run to fail/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cleaning.h"
#include "queue_worker.h"
#include "tracker.h"

namespace quarry::changes {

class Queueing final : public QueueWorker {
 public:
  explicit Queueing(const DaemonContext& context)
      : context_(context),
        tracker_(context.directories, context.options.rules),
        moving_(context.directories),
        cleaning_(context_, tracker_) {}
  Result<void> begin() override;
  Result<void> run(Scan scan) override;
  std::optional<base::UnixMillis> next_time() const override { return cleaning_.next_time(); }
  bool is_idle() const override { return is_finishing_ || cleaning_.is_idle(); }
  void finish() override { is_finishing_ = true; }

 private:
  Result<void> make_logs();
  Result<void> report_moves();
  Result<void> scan_folders(Scan scan);
  Result<void> fail_doomed();
  Result<void> stage();
  Result<void> move_ready();
  Result<void> move_to_pending(const std::vector<ChangeSetId>& ids, std::size_t max_count);
  Result<void> put_aside(const ChangeSetName& name);
  Result<void> move(const ChangeSetId& id, Stage to, const std::string& why);
  Result<void> commit();

  DaemonContext context_;
  Tracker tracker_;
  JointMove moving_;  // moves that are already recorded in the tracker
  Cleaning cleaning_;
  std::vector<RaisedJob> raised_;  // the list in ctrl/raised
  bool has_noted_rules_ = false;
  bool is_finishing_ = false;
};

}  // namespace quarry::changes
