// Starts the processes that make pages, from a session of its own.
//
// Where the kernel shares processor time among sessions first (sched(7), autogroup), the niceness of
// a process counts among those of its own session only: next to syncs, the web server and the
// clients of this machine a niced fossil would have as much as all of them. So the processes are
// started by one that leads a session of their own, whose share is what is lowered. They are children
// of who asks for them, all the same: he waits for them, and ends them.
//
// Who starts them is the program itself, which was executed and linked once and is kept at its
// beginning (kept_fossil.cc), and forks. A program into which no library can be loaded is executed
// for each of them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "page_order.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::pages {

class FossilStarter {
 public:
  /// A program and its arguments; what is looked for in PATH is looked for in that of the caller.
  struct Plan {
    std::vector<std::string> words;
    std::vector<std::string> environment;
    int nice;                      // of all of them together, beside other sessions; 0 to 19
    std::filesystem::path keeper;  // the library that keeps the program; empty: there is none
  };

  explicit FossilStarter(Plan plan);

  /// Starts one with DESCRIPTORS, which stay the caller's, as its standard input, output and errors;
  /// in a process group of its own, its signals as they are by default. Waits until it is executed.
  /// Errors: kNotFound (there is no such program), kIo.
  base::Result<pid_t> start(const PageDescriptors& descriptors);
  /// The program's file is another one: what is kept of it is the old one.
  void forget();

 private:
  base::Result<void> make_starter();
  /// False: nobody answers.
  base::Result<bool> make_starter(bool is_kept);

  Plan plan_;
  base::Fd socket_;  // to who starts them; empty: there is none
  bool can_be_kept_;
};

}  // namespace quarry::pages
