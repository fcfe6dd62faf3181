// How much a sandbox uses: what no limit of a process bounds. Looked at from outside, through the
// first process of its namespaces.
//
//   memory   of all its processes, shared memory and files (they lie in memory) together
//   files    their number: a tmpfs bounds bytes, not names
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace quarry::changes {

struct Usage {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t files = 0;
};

/// Of the sandbox that begins with FIRST; what cannot be seen, as it has not been set up yet or has
/// ended, counts as nothing.
Usage usage_of(pid_t first);

}  // namespace quarry::changes
