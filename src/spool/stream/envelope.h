// The envelope of a message in a stream: the content of a record in its segments
// (segment_format.h). All numbers are little-endian.
//
//   envelope = format:1 key_length:1 only_length:1 zero:1 error_length:2 attempts:4 time:8 id:8
//              key only error content
//
// `time` is the time at which the stream accepted the message, in milliseconds since 1970. For a
// message that was replayed from dead letters, `only` is the name of its subscription, and `id` is
// its original id. For other messages, `only` is empty, `id` is 0, and the sequence number is the
// id. `attempts` and `error` are only used for dead letters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quarry/base/time.h"
#include "quarry/spool/message.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Maximum size of a stored error text in bytes.
inline constexpr std::size_t kMaxError = 256;
/// Maximum size of a subscription's name in bytes.
inline constexpr std::size_t kMaxName = 64;

/// The fields of an envelope. The texts are views into other buffers.
struct Envelope {
  std::string_view key;         // at most kMaxKey bytes
  std::string_view only = {};   // at most kMaxName bytes
  std::string_view error = {};  // at most kMaxError bytes
  std::uint32_t attempts = 0;
  base::UnixMillis taken_at;
  std::uint64_t id = 0;
  std::string_view content;
};

Message seal(const Envelope& envelope, std::uint8_t severity);
/// Decodes BYTES. Returns nullopt if BYTES are not an envelope.
std::optional<Envelope> open_envelope(std::string_view bytes);

/// Returns MESSAGE in a new envelope for the subscription ONLY, with ERROR after ATTEMPTS.
Message seal_again(const StreamedMessage& message, std::string_view only, std::string_view error,
                   std::uint32_t attempts);

/// Returns the message in ENVELOPE, whose sequence number is SEQUENCE.
StreamedMessage message_in(const Envelope& envelope, std::uint64_t sequence, std::uint8_t severity);

}  // namespace quarry::spool
