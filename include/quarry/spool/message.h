// A message in a queue: opaque bytes and a severity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quarry::spool {

/// Maximum size of a message in bytes. A length from a file is checked against this limit before
/// memory is allocated.
inline constexpr std::size_t kMaxContent = std::size_t{64} << 20;

/// Severities as in syslog (RFC 5424), from 0 for the most severe to 7 for the least severe.
inline constexpr std::uint8_t kLeastSevere = 7;
inline constexpr std::uint8_t kInformational = 6;

struct Message {
  std::string content;
  std::uint8_t severity = kInformational;

  friend bool operator==(const Message&, const Message&) = default;
};

/// When a queue delays the producer of a message.
enum class Delay : std::uint8_t {
  kNone,   // only while the queue is full; for a producer such as a datagram socket
  kLight,  // also above queue.lightdelaymark, for at most a second
  kFull,   // also above queue.fulldelaymark, without a time limit; for a file or a pipe
};

}  // namespace quarry::spool
