// Where another process is in its code: a backtrace made with elfutils' libdw over ptrace(2).
//
// Runs in a short-lived process that the master forks for it (see slow_log.h): what is read, the
// tables of the files that the other process has mapped and its stack, is that process's word, and
// takes time and memory. The other process stands still only while its registers and stack are
// read; the tables are read before, names are looked up after.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::master {

struct Backtrace {
  std::vector<std::string> frames;  // innermost first: "[0x000000000040beef] function() file.cc:12"
  std::chrono::microseconds stood_still{0};
};

/// The backtrace of PID's main thread, DEPTH frames at most. PID must be a child of PARENT: who has
/// got its number since is left alone. Errors: kDenied (says what forbids it), kIo (gone, or did
/// not stop in time).
base::Result<Backtrace> backtrace_of(pid_t pid, pid_t parent, std::size_t depth);

}  // namespace quarry::master
