// Executes the jobs in pending/, in order, in a limited number of children.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "children.h"
#include "queue_worker.h"
#include "rollback.h"
#include "tracker.h"

namespace quarry::changes {

class Execution final : public QueueWorker {
 public:
  Execution(const DaemonContext& context, Children::Live live)
      : context_(context),
        tracker_(context.directories, context.options.rules),
        children_(std::move(live)),
        rollback_(context_, tracker_, children_) {}

  Result<void> begin() override;
  Result<void> run(Scan scan) override;
  std::vector<int> descriptors() const override { return children_.descriptors(); }
  std::optional<base::UnixMillis> next_time() const override;
  bool is_idle() const override;
  void finish() override {
    is_finishing_ = true;
    give_back_right();  // the next daemon of this host takes it
  }
  void interrupt() override { children_.interrupt(); }
  void leave_daemon() override {
    give_back_right();  // closes the child's copy of a descriptor
    children_.close_all();
    rollback_.leave_daemon();
  }

 private:
  Result<void> take_answers();
  Result<void> apply(const Answer& answer);
  void report_begin(const ChangeSetName& name);
  void report_end(const ChangeSetName& name);
  Result<void> recover();
  Result<void> put_back();
  Result<void> recover(const ChangeSetName& name, const std::string& how, bool is_crash);
  Result<void> stop_requested();
  Result<bool> stop(const ChangeSetId& id, bool is_termination, const std::string& why);
  Result<bool> can_run_gate();
  bool has_pending(const std::vector<ChangeSetId>& jobs) const;
  bool take_right();
  void give_back_right() {
    if (context_.options.right) context_.options.right->give_back();
  }
  Result<void> start();
  void give_turns();
  void make_way();
  std::vector<ChangeSetName> take_batch(const ChangeSetId& first,
                                        const std::vector<ChangeSetId>& ready);

  DaemonContext context_;
  Tracker tracker_;
  Children children_;
  Rollback rollback_;
  std::set<ChangeSetId> asked_;  // running jobs to which a stop request was sent
  std::set<ChangeSetId> stuck_;  // jobs in run/ that have an outcome but could not be moved
  std::set<ChangeSetId> begun_;  // jobs that were reported as running, but not as finished
  base::UnixMillis started_at_;  // time at which ready jobs were last started
  std::optional<base::UnixMillis> next_take_;  // set if another host has the right
  bool is_stopped_ = false;                    // the gate cannot be run
  bool is_finishing_ = false;
};

}  // namespace quarry::changes
