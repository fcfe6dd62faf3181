// The model of a queue, kept in step with its folders.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <set>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/model.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

class Tracker {
 public:
  Tracker(const Directories& directories, const Rules& rules);

  const Model& model() const { return *model_; }
  /// Reads what has come to STAGES, and finds out where that which was there has gone.
  base::Result<void> scan(std::initializer_list<Stage> stages);
  /// JOB is in STAGE, as somebody knows who has it in hand.
  void put(const Job& job, Stage stage);
  /// ID, which is in pending/, is being executed, until somebody looks for it.
  void start(const ChangeSetId& id);
  /// ID is not to go before TIME, whatever its file says.
  void delay(const ChangeSetId& id, base::UnixMillis now, base::UnixMillis time);
  /// Finds out where that which others depend on is.
  base::Result<void> resolve();
  /// Finds out where ID, which is known, is now.
  base::Result<void> look_for(const ChangeSetId& id);
  /// The branches that ctrl/frozen names, a line each.
  base::Result<void> read_frozen();
  /// All that are known and not over.
  std::vector<ChangeSetId> open() const;
  std::size_t count(Stage stage) const { return at_[static_cast<std::size_t>(stage)].size(); }

 private:
  void put(ModelJob known);
  base::Result<bool> read(Stage stage, const ChangeSetName& name);
  void forget_what_is_over();

  const Directories& directories_;
  const Rules& rules_;
  ChangeLog log_;
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::array<std::set<ChangeSetId>, kStages> at_;
  std::set<ChangeSetId> started_;
};

}  // namespace quarry::changes
