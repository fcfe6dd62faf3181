// The processes that wait for a request, and the bound on those that have one.
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
  /// All must outlive it.
  FossilPool(event_base* base, const Options& options, const ServedRepositories& served,
             const FossilEnvironment& fossil_environment, FossilStarter& starter);

  /// Has the first ones started.
  void start();
  bool has_room() const { return running_ < options_.max_children; }
  /// One for a request; counts as running until release(). Errors: those of starting it.
  base::Result<FossilProcess> take();
  void release() { --running_; }
  /// The process PID has ended.
  void on_ended(pid_t pid, bool had_request);
  std::size_t running() const { return running_; }
  std::size_t spare() const { return spare_.size(); }

 private:
  void replenish();
  /// Those of a file or program that has been replaced would show the old one, and those that have
  /// begun with another configuration may know something of it.
  void drop_outdated();
  void on_start_failed(const std::string& why);

  const Options& options_;
  const ServedRepositories& served_;
  const FossilEnvironment& fossil_environment_;
  FossilStarter& starter_;
  std::list<FossilProcess> spare_;
  std::size_t running_ = 0;
  std::string begun_with_;                    // what the spare ones have
  std::chrono::milliseconds retry_delay_{0};  // before another is started, after failures
  base::Event replenishing_;
};

}  // namespace quarry::pages
