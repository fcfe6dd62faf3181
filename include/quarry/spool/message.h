// What a queue carries: bytes that it never looks into, and how much it would matter to lose them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quarry::spool {

/// Bytes that one message may have: a length read from a file is checked against it before there is
/// memory for it.
inline constexpr std::size_t kMaxContent = std::size_t{64} << 20;

/// syslog's severities (RFC 5424): 0 matters most, 7 least.
inline constexpr std::uint8_t kLeastSevere = 7;
inline constexpr std::uint8_t kInformational = 6;

struct Message {
  std::string content;
  std::uint8_t severity = kInformational;

  friend bool operator==(const Message&, const Message&) = default;
};

/// How long whoever enqueues may be held up for the sake of the queue, by what it can do instead.
enum class Delay : std::uint8_t {
  kNone,   // it cannot wait at all (a datagram socket): only the queue's size holds it up
  kLight,  // it can wait a moment: up to a second above queue.lightdelaymark
  kFull,   // it can wait for ever (a file, a pipe): as long as the queue is above the fulldelaymark
};

}  // namespace quarry::spool
