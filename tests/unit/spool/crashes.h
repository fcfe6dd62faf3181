// Simulates crashes of the machine and kills of a process by replaying recorded file operations.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "memory_file_system.h"

/// The file operations of a scenario, and the promises that the queue made: each promise states which
/// messages were acknowledged after a number of operations.
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

/// Simulates a crash of the machine after each of OPERATIONS and calls CHECK(image, count). If at
/// most EXHAUSTIVE operations are unsynced, every subset of the unsynced operations is lost once.
/// Otherwise the crash is repeated SAMPLES times: all unsynced operations are lost, then none of
/// them, and then random subsets.
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

/// Simulates kills of a process during each of OPERATIONS. Calls CHECK(image, count) after each
/// kill. COUNT operations were complete, and the next operation had written only a part of its
/// bytes. The length of this part is a multiple of STRIDE(bytes).
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
