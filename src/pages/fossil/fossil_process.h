// One `fossil http`: started ahead, it waits on its standard input for a request as scgi.h has it,
// writes the reply to its standard output, and ends.
//
// It runs in a process group of its own (fossil_starter.h), niced and with a bound on its memory, and
// is told nothing but by pipes: there is no port that anybody else could reach. Standard input is
// named as a file (--in), so that fossil takes it for no terminal and leaves the lease of its
// backoffice alone.
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
  /// How all of a pool's are started.
  static FossilStarter::Plan plan(const Options& options, const ServedRepositories& served);
  /// Errors: kNotFound (there is no such program), kIo.
  static base::Result<FossilProcess> start(FossilStarter& starter);
  FossilProcess(FossilProcess&& other) noexcept = default;
  FossilProcess& operator=(FossilProcess&&) = delete;
  /// Ends it, and its group, if it has not been reaped.
  ~FossilProcess();

  pid_t pid() const { return pid_.number; }
  /// It has ended, and was waited for.
  void reaped() { pid_.number = -1; }
  /// The ends of its pipes, not blocking, once each.
  base::Fd take_input() { return std::move(input_); }
  base::Fd take_output() { return std::move(output_); }
  base::Fd take_errors() { return std::move(errors_); }

 private:
  FossilProcess() = default;

  /// -1 once moved from.
  struct Pid {
    Pid() = default;
    Pid(Pid&& other) noexcept : number(std::exchange(other.number, -1)) {}
    pid_t number = -1;
  };
  Pid pid_;
  base::Fd input_;
  base::Fd output_;
  base::Fd errors_;
};

/// What `PROGRAM version` says, in a line: "2.21". Waits for it, for some seconds at most. Errors:
/// kNotFound, kIo, kInvalid (it is no fossil).
base::Result<std::string> version_of(const std::string& program);

/// The pages that PROGRAM has. The same; also kInvalid where it does not tell.
base::Result<PageNames> pages_of(const std::string& program);

}  // namespace quarry::pages
