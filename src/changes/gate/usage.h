// Resource usage of a whole sandbox, for limits that cannot be set per process. The usage is
// measured from outside, through the first process in the sandbox.
//
//   memory   used by processes, by shared memory and by files (which are in memory)
//   files    number of files, which a tmpfs does not limit
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace quarry::changes {

struct Usage {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t files = 0;
};

/// Returns the usage of the sandbox whose first process is FIRST. If the sandbox is not set up yet
/// or has exited, values that cannot be read are zero.
Usage usage_of(pid_t first);

}  // namespace quarry::changes
