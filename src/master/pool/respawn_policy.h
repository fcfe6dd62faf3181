// When a dead child is replaced: immediately, unless its service is in a crash loop.
//
// A crash is quick if the child lived for less than a second and did not end in an orderly way. The
// first few quick crashes in a row are ignored; after them the delay doubles up to a limit, until a
// child lives longer. A child killed with SIGKILL was ended from outside (by an operator or the OOM
// killer), which predicts nothing about the next one.
#pragma once

#include <chrono>

namespace quarry::master {

struct Death {
  std::chrono::milliseconds lived{0};
  bool was_orderly = false;  // exit code 0 after a request, or because it could not reopen its logs
  bool was_killed = false;   // by SIGKILL
};

class RespawnPolicy {
 public:
  /// The delay before the replacement is started.
  std::chrono::milliseconds after(const Death& death);

 private:
  int quick_deaths_ = 0;
};

}  // namespace quarry::master
