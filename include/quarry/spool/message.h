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

/// How long the producer of a message can wait when the queue has no room.
enum class Delay : std::uint8_t {
  kNone,   // cannot wait (a datagram socket): waits only while the queue is full
  kLight,  // can wait briefly: waits up to a second above queue.lightdelaymark
  kFull,   // can wait forever (a file, a pipe): waits while the queue is above queue.fulldelaymark
};

}  // namespace quarry::spool
