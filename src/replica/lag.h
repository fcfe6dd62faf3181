// How long this host has lacked messages that are in the stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace quarry::replica {

class Lag {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Returns the lag at NOW. LAST is the last message of the stream, or nullopt if the servers do not
  /// answer. READ is the last message that this host has read.
  std::chrono::milliseconds update(std::optional<std::uint64_t> last, std::uint64_t read,
                                   TimePoint now) {
    const std::uint64_t target = last.value_or(std::numeric_limits<std::uint64_t>::max());
    if (read >= awaited_) {
      awaited_ = target;
      since_ = now;
    }
    awaited_ = std::min(awaited_, target);
    if (read >= awaited_) since_ = now;
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
  }

 private:
  std::uint64_t awaited_ = 0;  // the message that ends the lag
  TimePoint since_{};          // when it was first awaited
};

}  // namespace quarry::replica
