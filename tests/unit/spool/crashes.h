// What is left of recorded file operations after a crash of the machine, or after the process is
// killed.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "memory_file_system.h"

/// The operations of a scenario, and what was acknowledged after which: each Promise has its
/// `operations`.
template <typename Promise>
struct Recording {
  std::vector<FileOperation> operations;
  std::vector<Promise> promises;

  Promise at(std::size_t operation) const {
    Promise last{};
    for (const Promise& promise : promises) {
      if (promise.operations <= operation) last = promise;
    }
    return last;
  }
};

/// Calls CHECK(image, count) for a crash of the machine after each number of OPERATIONS, in which
/// any of the unsynced ones may be lost: for up to EXHAUSTIVE of them all subsets, otherwise
/// SAMPLES random subsets, of which the first two are all of them and none.
template <typename Check>
void for_each_crash(const std::vector<FileOperation>& operations, std::size_t exhaustive,
                    std::size_t samples, const Check& check) {
  std::mt19937 random(1);
  for (std::size_t count = 0; count <= operations.size(); ++count) {
    const std::size_t open = MemoryFileSystem::unsynced(operations, count);
    const bool is_exhaustive = open <= exhaustive;
    const std::size_t subsets = is_exhaustive ? std::size_t{1} << open : samples;
    for (std::size_t subset = 0; subset < subsets; ++subset) {
      CAPTURE(count);
      CAPTURE(subset);
      const std::size_t bits = is_exhaustive || subset == 0 ? subset : subset == 1 ? ~0U : random();
      check(MemoryFileSystem::after_a_stop(
                {}, operations, count, [&](std::size_t i) { return (bits >> i % 32 & 1) != 0; }),
            count);
    }
  }
}

/// Calls CHECK(image, count) for a process that is killed within each of OPERATIONS, COUNT after
/// the first, after every STRIDE(bytes)-th of the bytes that it writes.
template <typename Stride, typename Check>
void for_each_kill(const std::vector<FileOperation>& operations, const Stride& stride,
                   const Check& check) {
  for (std::size_t count = 0; count < operations.size(); ++count) {
    const std::size_t bytes = operations[count].bytes.size();
    auto last = operations;
    for (std::size_t size = 0; size <= bytes; size += stride(bytes)) {
      CAPTURE(count);
      CAPTURE(size);
      last[count].bytes = operations[count].bytes.substr(0, size);
      check(MemoryFileSystem::after_a_stop({}, last, count + (size > 0 ? 1 : 0),
                                           [](std::size_t) { return true; }),
            count);
    }
  }
}
