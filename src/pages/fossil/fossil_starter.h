// Starts the processes that make pages, from a session of its own.
//
// Where the kernel shares processor time among sessions first (sched(7), autogroup), the niceness of
// a process counts among those of its own session only: next to syncs, the web server and the
// clients of this machine a niced fossil would have as much as all of them. So the processes are
// started by one that leads a session of their own, whose share is what is lowered. They are children
// of who asks for them, all the same: he waits for them, and ends them.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::pages {

class FossilStarter {
 public:
  /// A program and its arguments; what is looked for in PATH is looked for in that of the caller.
  struct Plan {
    std::vector<std::string> words;
    std::vector<std::string> environment;
    int nice;  // of all of them together, beside other sessions; 0 to 19
  };

  explicit FossilStarter(Plan plan) : plan_(std::move(plan)) {}

  /// Starts one with DESCRIPTORS, which stay the caller's, as its standard input, output and errors;
  /// in a process group of its own, its signals as they are by default. Waits until it is executed.
  /// Errors: kNotFound (there is no such program), kIo.
  base::Result<pid_t> start(const std::array<int, 3>& descriptors);

 private:
  base::Result<void> make_starter();

  Plan plan_;
  base::Fd socket_;  // to who starts them; empty: there is none
};

}  // namespace quarry::pages
