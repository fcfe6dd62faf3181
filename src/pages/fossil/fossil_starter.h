// The page starter: a child of the pages process that starts the fossil processes, in its own
// session.
//
//   pages process ── standard input, output and errors ──> page starter ── base::spawn ──> fossil
//                 <── its process id, or an error ────────
//                 <── each fossil that has exited ────────
//
// If the kernel first divides processor time among sessions (sched(7), autogroup), niceness counts
// only within a session. A niced fossil would still get as much as all syncs, the web server and
// the clients on this machine together. Therefore all fossils share one session, which has a lower
// share.
//
// When the pages process exits, even by a crash, the starter kills all fossils that are still
// running.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::pages {

class FossilStarter {
 public:
  struct Plan {
    /// The program and its arguments. The program is looked up in PATH if it has no slash.
    std::vector<std::string> words;
    std::vector<std::string> environment;
    int nice;                // added to the niceness of the processes, and of their session
    std::size_t max_memory;  // bytes of address space of each process
  };
  struct Ended {
    pid_t pid;
    int status;  // as in waitpid(2)
  };

  /// Forks the starter. Errors: kIo.
  static base::Result<FossilStarter> make(const Plan& plan);

  /// Starts a fossil as the leader of a process group. DESCRIPTORS, which are not owned, become its
  /// standard input, output and error. Errors: kNotFound (the program does not exist), kIo.
  base::Result<pid_t> start(const std::array<int, 3>& descriptors);
  /// Returns a descriptor that is readable when ended() has something to return.
  int ended_fd() const { return ended_.get(); }
  /// Returns the processes that have exited since the last call. Errors: kIo (the starter has
  /// died).
  base::Result<std::vector<Ended>> ended();

 private:
  FossilStarter(base::Fd orders, base::Fd ended);

  base::Fd orders_;
  base::Fd ended_;
};

}  // namespace quarry::pages
