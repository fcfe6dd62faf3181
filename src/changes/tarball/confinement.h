// Restricts a process before it reads untrusted input.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace quarry::changes {

struct Confinement {
  std::chrono::seconds processor_time{60};
  std::size_t memory = std::size_t{512} << 20;  // bytes, in addition to the memory in use
};

/// Confines this process. Closes all files except KEPT and the standard streams, and removes all
/// signal handlers. Afterwards, the process is killed if its parent exits, and can only compute and
/// use its open files. Any other system call kills the process (SIGSYS). In builds with a
/// sanitizer, system calls and memory are not limited. Returns false if the system does not support
/// this.
bool confine(std::span<const int> kept, const Confinement& bounds);

}  // namespace quarry::changes
