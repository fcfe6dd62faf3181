// What a stream puts around a message: the content of a record of its segments (segment_format.h). All
// numbers are little-endian.
//
//   envelope = format:1 key_length:1 only_length:1 zero:1 error_length:2 attempts:4 time:8 id:8
//              key only error content
//
// `time` is when the stream took the message, in milliseconds since 1970. `only` names the one
// subscription that it is for, when that has taken it back from its dead letters; `id` is the one
// that it had at first then, and 0 where it is that of its place. `attempts` and `error` are of a
// dead letter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/time.h"
#include "quarry/spool/message.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Bytes of an error's text that are kept.
inline constexpr std::size_t kMaxError = 256;
/// Bytes of a subscription's name.
inline constexpr std::size_t kMaxName = 64;

/// The fields of an envelope, which point into what it was read from, or will be made of.
struct Envelope {
  std::string_view key;    // kMaxKey bytes at most
  std::string_view only;   // kMaxName bytes at most
  std::string_view error;  // kMaxError bytes at most
  std::uint32_t attempts = 0;
  base::UnixMillis taken_at;
  std::uint64_t id = 0;
  std::string_view content;
};

/// The envelope as a message of SEVERITY.
Message seal(const Envelope& envelope, std::uint8_t severity);
/// What is in BYTES; nothing where they are no envelope.
std::optional<Envelope> open_envelope(std::string_view bytes);

/// The message that lies at SEQUENCE in ENVELOPE.
StreamedMessage message_in(const Envelope& envelope, std::uint64_t sequence, std::uint8_t severity);

}  // namespace quarry::spool
