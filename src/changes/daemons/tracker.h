// Keeps the model of a queue up to date with its folders.
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
  /// Reads new jobs in STAGES, and finds the current stage of jobs that are no longer in STAGES.
  Result<void> scan(std::initializer_list<Stage> stages);
  /// Records that JOB is in STAGE. The caller must hold the lock of the job.
  void put(const Job& job, Stage stage);
  /// Treats ID, which is in pending/, as running until locate() is called for it.
  void start(const ChangeSetId& id);
  /// Prevents ID from running before TIME, even if its file has an earlier time.
  void delay(const ChangeSetId& id, base::UnixMillis now, base::UnixMillis time);
  /// Reads the jobs to which jobs in the model refer, but which are missing from the model.
  Result<void> resolve();
  /// Reads the urgent jobs in ctrl/raised that raise known jobs in pending/, unless the model
  /// already has them.
  Result<void> read_raised();
  /// Finds the current stage of ID, which must be known.
  Result<void> locate(const ChangeSetId& id);
  /// Finds the current stages of the known jobs in STAGES.
  Result<void> locate_all(std::initializer_list<Stage> stages);
  /// Removes the jobs in STAGES from the model.
  void forget(std::initializer_list<Stage> stages);
  /// Reads the frozen branches from ctrl/frozen.
  Result<void> read_frozen();
  /// Logs ERROR, an error about the file of ID, once per file.
  void log_unusable(const ChangeSetId& id, const Error& error);
  /// Returns all known unfinished jobs.
  std::vector<ChangeSetId> open() const;
  std::size_t count(Stage stage) const { return at_[static_cast<std::size_t>(stage)].size(); }

 private:
  void put(ModelJob known);
  Result<void> add(const ChangeSetName& name);
  Result<bool> read(Stage stage, const ChangeSetName& name);
  void forget_what_is_over();

  const Directories& directories_;
  const Rules& rules_;
  ChangeLog log_;
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::array<std::set<ChangeSetId>, kStages> at_;
  std::set<ChangeSetId> started_;
  std::set<ChangeSetId> logged_;  // jobs with unusable files
};

}  // namespace quarry::changes
