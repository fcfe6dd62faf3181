// The processes that wait for a request, and the bound on those that have one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <utility>

#include "fossil_process.h"
#include "quarry/base/event_handles.h"

namespace quarry::pages {

class FossilPool {
 public:
  /// OPTIONS and PLACE must outlive it.
  FossilPool(event_base* base, const Options& options, const Place& place);

  /// Has the first ones started.
  void start();
  bool has_place() const { return running_ < options_.max_children; }
  /// One for a request; counts as running until gave_back(). Errors: those of starting it.
  base::Result<FossilProcess> take();
  void gave_back() { --running_; }
  /// All children that have ended. TELL is told of each, and how (waitpid(2)).
  void reap(const std::function<void(pid_t, int)>& tell);
  std::size_t running() const { return running_; }
  std::size_t spare() const { return spare_.size(); }

 private:
  void replenish();
  /// Those of a file that has been replaced would show the old one.
  void drop_outdated();
  void fell(const std::string& why);

  const Options& options_;
  const Place& place_;
  FossilProcess::Plan plan_;
  std::list<FossilProcess> spare_;
  std::size_t running_ = 0;
  std::pair<std::uint64_t, std::uint64_t> file_{};  // device and inode of the one that is served
  std::chrono::milliseconds rest_{0};               // before another is started, after failures
  base::Event replenishing_;
};

}  // namespace quarry::pages
