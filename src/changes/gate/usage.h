// Resource usage of a whole sandbox, for limits that cannot be set per process. It is measured from
// outside, through the first process of its namespaces.
//
//   memory   used by its processes, shared memory and files (which are in memory)
//   files    number of files, because a tmpfs limits only bytes
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace quarry::changes {

struct Usage {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t files = 0;
};

/// Usage of the sandbox whose first process is FIRST. A value that cannot be read, because the
/// sandbox is not set up yet or has ended, counts as zero.
Usage usage_of(pid_t first);

}  // namespace quarry::changes
