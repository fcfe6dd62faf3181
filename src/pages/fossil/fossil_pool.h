// The spare fossil processes, and the limit on those that serve a request.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>

#include "cache/repository_state.h"
#include "fossil_process.h"
#include "quarry/base/event_handles.h"

namespace quarry::pages {

class FossilPool {
 public:
  /// Starts the first spare processes. All arguments must outlive this object.
  FossilPool(event_base* base, const Options& options, const ServedRepositories& served,
             const FossilEnvironment& fossil_environment, FossilStarter& starter);

  bool has_room() const { return running_ < options_.max_children; }
  /// Returns a process for a request. The process counts as running until release(). Errors: the
  /// same as for FossilProcess::start().
  Result<FossilProcess> take();
  void release() { --running_; }
  /// Called when the process PID has exited.
  void on_ended(pid_t pid, bool had_request);
  std::size_t running() const { return running_; }

 private:
  void replenish();
  /// Kills spare processes if the repository file, the program or fossil's configuration has
  /// changed. The processes might have read the old versions.
  void drop_outdated();
  void on_start_failed(const std::string& why);

  const Options& options_;
  const ServedRepositories& served_;
  const FossilEnvironment& fossil_environment_;
  FossilStarter& starter_;
  std::list<FossilProcess> spare_;
  std::size_t running_ = 0;
  std::string begun_with_;                    // state at the start of the spare processes
  std::chrono::milliseconds retry_delay_{0};  // delay before the next start, after failures
  base::Event replenishing_;
};

}  // namespace quarry::pages
