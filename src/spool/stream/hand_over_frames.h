// The protocol of a hand-over (quarry/spool/hand_over.h). All numbers are little-endian.
//
//   frame   = length:4 body                      `length` counts the body
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
/// Maximum size of an answer's body in bytes.
inline constexpr std::size_t kMaxAnswer = 4096;

/// Returns a request with MESSAGES, as a frame. Errors: kLimit (the request is longer than
/// kMaxHandOver, or a message is too long for a stream).
Result<std::string> request_frame(std::span<const NewMessage> messages);
/// Returns the messages in BODY, or nullopt if BODY is not a valid request.
std::optional<std::vector<NewMessage>> decode_request(std::string_view body);

/// Returns an answer, as a frame, with the id of the first message or with an error.
std::string answer_frame(const Result<std::uint64_t>& first_id);
/// Decodes an answer. Errors: the server's error, and kIo if BODY is not a valid answer.
Result<std::uint64_t> decode_answer(std::string_view body);

/// Returns the length of the body from HEADER, which is kFrameHeader bytes long.
std::size_t body_length(std::string_view header);

}  // namespace quarry::spool
