// The page starter: a child of the pages process that starts each fossil, in a session of its own.
//
//   pages process ── standard input, output and errors ──> page starter ── base::spawn ──> fossil
//                 <── its process id, or an error ────────
//                 <── each fossil that has ended ─────────
//
// Where the kernel shares processor time among sessions first (sched(7), autogroup), niceness counts
// only within a session: a niced fossil would still take as much as all syncs, the web server and
// the clients on this machine together. So all of them are in one session, and its share is lowered.
//
// When the pages process ends, even by a crash, its starter kills every fossil that still runs.
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

  /// Starts a fossil with DESCRIPTORS, which stay the caller's, as its standard input, output and
  /// errors, as the leader of a process group. Errors: kNotFound (no such program), kIo.
  base::Result<pid_t> start(const std::array<int, 3>& descriptors);
  /// Readable when ended() has news.
  int ended_fd() const { return ended_.get(); }
  /// The processes that have ended since the last call. Errors: kIo (the starter has died).
  base::Result<std::vector<Ended>> ended();

 private:
  FossilStarter(base::Fd orders, base::Fd ended);

  base::Fd orders_;
  base::Fd ended_;
};

}  // namespace quarry::pages
