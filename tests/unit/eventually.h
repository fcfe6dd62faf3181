// Waits for the effect of another process or thread by polling.
#pragma once

#include <unistd.h>

#include <chrono>

inline constexpr int kPatience = 60'000;  // milliseconds; only used up by a failure
inline constexpr std::chrono::milliseconds kPatienceTime(kPatience);

/// Whether IS_SO() becomes true within kPatience.
template <typename Condition>
bool eventually(const Condition& is_so) {
  const auto end = std::chrono::steady_clock::now() + kPatienceTime;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}
