// Starting another program: with the descriptors that it is given and no other, its signals as they
// are by default, in a process group of its own. From any thread; nothing is forked.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

struct Launch {
  /// The program, which is looked for in PATH where it has no slash, and its arguments.
  std::vector<std::string> words;
  std::vector<std::string> environment = {};  // "NAME=value" each
  /// What it has open as 0, 1, 2 and so on; they stay the caller's.
  std::vector<int> descriptors = {};
  std::string folder = "/";
};

/// WORDS as execve(2) has them, which must outlive them.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts it; returns its process id, which is that of its group as well. Errors: kNotFound, kIo.
Result<pid_t> spawn(const Launch& launch);

}  // namespace quarry::base
