// A `fossil http` process. The process is started in advance, waits on standard input for a request
// (scgi.h), writes the reply to standard output, and exits.
//
// The process runs in its own process group (fossil_starter.h), with a niceness and a memory limit,
// and confined (base/confinement.h). Requests are sent through pipes, because other users could
// connect to a port. Standard input is passed as a file name (--in). Without --in, fossil might
// treat standard input as a terminal, and would try to take the backoffice lease.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "fossil_starter.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/pages/options.h"
#include "request/target.h"

namespace quarry::pages {

class FossilProcess {
 public:
  /// Returns the plan for all processes of a pool.
  static FossilStarter::Plan plan(const Options& options, const ServedRepositories& served);
  /// Starts a process. Errors: kNotFound (the program does not exist), kIo.
  static Result<FossilProcess> start(FossilStarter& starter);
  FossilProcess(FossilProcess&& other) noexcept = default;
  FossilProcess& operator=(FossilProcess&&) = delete;
  /// If the process has not been reaped, kills it and the programs that it has started.
  ~FossilProcess();

  pid_t pid() const { return pid_.number; }
  /// Called after the process was reaped.
  void reaped() { pid_.number = -1; }
  /// Return the non-blocking ends of the process's pipes. Each function can be called only once.
  base::Fd take_input() { return std::move(input_); }
  base::Fd take_output() { return std::move(output_); }
  base::Fd take_errors() { return std::move(errors_); }

 private:
  FossilProcess() = default;

  /// A process id, or -1 after a move.
  struct Pid {
    Pid() = default;
    Pid(Pid&& other) noexcept : number(std::exchange(other.number, -1)) {}
    pid_t number = -1;
  };
  Pid pid_;
  bool starts_programs_ = false;
  base::Fd input_;
  base::Fd output_;
  base::Fd errors_;
};

/// Returns the names of the pages in PROGRAM. Waits at most a few seconds. Errors: kNotFound, kIo,
/// kInvalid (PROGRAM does not list its pages).
Result<PageNames> pages_of(const std::string& program);

}  // namespace quarry::pages
