// When a dead child is replaced: at once, unless its service is in a crash loop.
//
// A death counts as quick when the child lived for less than a second and did not end as it should.
// The first few quick deaths in a row are forgiven; after them the wait doubles up to a bound,
// until a child lives longer. A child killed with SIGKILL was ended from outside (an operator, the
// kernel out of memory), which says nothing about the next one.
#pragma once

#include <chrono>

namespace quarry::master {

struct Death {
  std::chrono::milliseconds lived{0};
  bool was_orderly = false;  // exit code 0 after a request, or for logs that it could not reopen
  bool was_killed = false;   // by SIGKILL
};

class RespawnPolicy {
 public:
  /// How long the replacement has to wait.
  std::chrono::milliseconds after(const Death& death);

 private:
  int quick_deaths_ = 0;
};

}  // namespace quarry::master
