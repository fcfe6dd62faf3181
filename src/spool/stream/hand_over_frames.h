// What goes over the socket of a hand-over (quarry/spool/hand_over.h). All numbers are
// little-endian.
//
//   frame   = length:4 body                      of `length` bytes
//   request = count:4 message*
//   message = severity:1 key_length:1 key content_length:4 content
//   answer  = 0:1 first_id:8  |  1:1 error:1 text
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

inline constexpr std::size_t kFrameHeader = 4;
/// Bytes of an answer's body.
inline constexpr std::size_t kMaxAnswer = 4096;

/// The request of MESSAGES as a frame. Errors: kLimit, it is longer than kMaxHandOver, or has a
/// message that no stream takes.
base::Result<std::string> request_frame(std::span<const NewMessage> messages);
/// The messages in BODY; nothing where it is no request.
std::optional<std::vector<NewMessage>> decode_request(std::string_view body);

/// An answer as a frame: the id of the first message, or why there is none.
std::string answer_frame(const base::Result<std::uint64_t>& first_id);
/// What BODY says. Errors: those that the other end tells, and kIo where BODY is no answer.
base::Result<std::uint64_t> decode_answer(std::string_view body);

/// How long the body is whose frame begins with HEADER, of kFrameHeader bytes.
std::size_t body_length(std::string_view header);

}  // namespace quarry::spool
