// The sequence lock of each state on a board.
//
// See Hans Boehm, "Can seqlocks get along with programming language memory models?" (2012). The
// data words are relaxed atomics; two fences order them against the sequence number.
#pragma once

#include <bit>

#include "quarry/scoreboard/scoreboard.h"

namespace quarry::scoreboard {

// Maximum number of attempts to read a state. The sequence number is odd during an update, which
// takes far less than a microsecond. If the number is still odd after the last attempt, the writer
// was killed or stopped.
inline constexpr int kMaxReadTries = 1000;

/// Writes STATE to MEMORY. Calls ALONG before the update ends, so that readers see the changes of
/// ALONG together with STATE.
template <typename State, typename Along>
void write_state_and(SharedState<State>& memory, const State& state, Along along) {
  const auto words = std::bit_cast<std::array<std::uint64_t, SharedState<State>::kWords>>(state);
  // Set the lowest bit instead of adding 1: if the previous writer was killed during an update, the
  // sequence number is already odd.
  const std::uint64_t odd = memory.sequence.load(std::memory_order_relaxed) | 1U;
  memory.sequence.store(odd, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) {
    memory.words[i].store(words[i], std::memory_order_relaxed);
  }
  along();
  memory.sequence.store(odd + 1, std::memory_order_release);
}

template <typename State>
void write_state(SharedState<State>& memory, const State& state) {
  write_state_and(memory, state, [] {});
}

template <typename State>
struct Copy {
  State state;
  std::uint64_t sequence = 0;
  bool is_torn = false;
};

template <typename State>
Copy<State> copy_state(const SharedState<State>& memory) {
  std::array<std::uint64_t, SharedState<State>::kWords> words{};
  std::uint64_t after = 0;
  for (int tries_left = kMaxReadTries; tries_left > 0; --tries_left) {
    const std::uint64_t before = memory.sequence.load(std::memory_order_acquire);
    // Skip the copy while the sequence number is odd, because the copy would be discarded. The last
    // attempt copies anyway, so that the caller gets at least a torn state.
    if (before % 2 != 0 && tries_left > 1) continue;
    for (std::size_t w = 0; w < words.size(); ++w) {
      words[w] = memory.words[w].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    after = memory.sequence.load(std::memory_order_relaxed);
    if (before == after && before % 2 == 0) return {std::bit_cast<State>(words), after, false};
  }
  return {std::bit_cast<State>(words), after, true};
}

}  // namespace quarry::scoreboard
