// What a process gives up before it reads what strangers wrote.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace quarry::changes {

struct Confinement {
  std::chrono::seconds processor_time{60};
  std::size_t memory = std::size_t{512} << 20;  // bytes beyond what it has
};

/// From here on this process has KEPT and its standard streams alone open, ends with its parent, and
/// may do nothing but compute, and read and write what is open: another system call ends it
/// (SIGSYS). It has no other signal handler. Built with a sanitizer, which needs more, it keeps its
/// system calls and memory. False: the machine does not let it.
bool confine(std::span<const int> kept, const Confinement& bounds);

}  // namespace quarry::changes
