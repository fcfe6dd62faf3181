// Polls for the effect of another process or thread.
#pragma once

#include <unistd.h>

#include <chrono>

inline constexpr int kPatience = 60'000;  // milliseconds; only failing tests wait this long
inline constexpr std::chrono::milliseconds kPatienceTime(kPatience);

/// Returns true as soon as IS_SO() returns true, or false after kPatience.
template <typename Condition>
bool eventually(const Condition& is_so) {
  const auto end = std::chrono::steady_clock::now() + kPatienceTime;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}
