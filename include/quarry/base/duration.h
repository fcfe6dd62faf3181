// Formats durations for messages.
#pragma once

#include <chrono>
#include <string>

namespace quarry::base {

/// Formats TIME in seconds ("30 s"), or in milliseconds ("1500 ms") if TIME is not a whole number
/// of seconds.
inline std::string in_words(std::chrono::milliseconds time) {
  const bool is_whole = time.count() % 1000 == 0;
  return std::to_string(is_whole ? time.count() / 1000 : time.count()) + (is_whole ? " s" : " ms");
}

}  // namespace quarry::base
