// Restricts a process before it reads untrusted input.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace quarry::changes {

struct Confinement {
  std::chrono::seconds processor_time{60};
  std::size_t memory = std::size_t{512} << 20;  // bytes, in addition to those in use now
};

/// Closes all files except KEPT and the standard streams, makes the process die with its parent,
/// removes its signal handlers, and limits it to computing and to reading and writing open files.
/// Any other system call kills the process (SIGSYS). If it is built with a sanitizer, system calls
/// and memory are not limited. Returns false if this machine does not support it.
bool confine(std::span<const int> kept, const Confinement& bounds);

}  // namespace quarry::changes
