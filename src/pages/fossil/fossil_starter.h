// The page starter is a child of the pages process. The starter has a session of its own and starts
// the fossil processes.
//
//   pages process ── standard input, output and errors ──> page starter ── base::spawn ──> fossil
//                 <── its process id, or an error ────────
//                 <── each fossil that has exited ────────
//
// With autogroup (sched(7)), the kernel first divides processor time among sessions, and niceness
// applies only within a session. In a session with the usual share, a niced fossil would get as
// much time as all syncs together. Therefore all fossils share one session, which has a lower
// share.
//
// When the pages process exits or crashes, the starter kills all running fossils, waits until they
// have exited, and removes their temporary folder. Before the pages process exits, it waits for the
// starter. Otherwise, a service manager could find fossils that are still running after the master
// has exited, and kill them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/confinement.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::pages {

class FossilStarter {
 public:
  struct Plan {
    /// The program and its arguments. A name without a slash is looked up in PATH.
    std::vector<std::string> words;
    std::vector<std::string> environment;
    int nice;                // added to the niceness of the processes, and of their session
    std::size_t max_memory;  // maximum address space of each process in bytes
    /// Nullopt: the processes are not confined. Otherwise, the starter adds a temporary folder to
    /// which the processes can write.
    std::optional<base::Confinement> confinement;
    /// Whether the processes can start other programs. If so, they are supervised (base/spawn.h).
    bool starts_programs = true;
  };
  struct Ended {
    pid_t pid;
    int status;  // as in waitpid(2)
  };

  /// Forks the starter. Errors: kIo.
  static Result<FossilStarter> make(const Plan& plan);
  FossilStarter(FossilStarter&& other) noexcept = default;
  FossilStarter& operator=(FossilStarter&&) = delete;
  /// Makes the starter exit, and waits for it.
  ~FossilStarter();

  /// Starts a fossil as the leader of a process group. DESCRIPTORS, which are not owned, become the
  /// standard input, output and error of this fossil. Errors: kNotFound (the program does not
  /// exist), kIo.
  Result<pid_t> start(const std::array<int, 3>& descriptors);
  bool starts_programs() const { return starts_programs_; }
  /// Returns a descriptor that becomes readable when ended() can return processes.
  int ended_fd() const { return ended_.get(); }
  /// Returns the processes that have exited since the last call. Errors: kIo (the starter has
  /// exited).
  Result<std::vector<Ended>> ended();

 private:
  FossilStarter(pid_t pid, base::Fd orders, base::Fd ended, bool starts_programs);

  pid_t pid_;
  bool starts_programs_;
  base::Fd orders_;
  base::Fd ended_;
};

/// Kills the fossil PID and all programs that it has started.
void kill_fossil(pid_t pid, bool starts_programs);

}  // namespace quarry::pages
