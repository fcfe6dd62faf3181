#include "hand_over_frames.h"

#include "quarry/spool/hand_over.h"
#include "segments/little_endian.h"

namespace quarry::spool {

namespace {

/// Size of a message with an empty key and empty content.
constexpr std::size_t kMinMessage = 6;

}  // namespace

Result<std::string> request_frame(std::span<const NewMessage> messages) {
  std::size_t size = sizeof(std::uint32_t);
  for (const NewMessage& one : messages) {
    QUARRY_TRY(check(one));
    size += kMinMessage + one.key.size() + one.content.size();
  }
  if (size > kMaxHandOver || messages.empty()) {
    return fail(ErrorCode::kLimit, "a hand-over must have at least one message, and at most " +
                                       std::to_string(kMaxHandOver) + " bytes");
  }
  std::string frame;
  frame.reserve(kFrameHeader + size);
  append_number(frame, static_cast<std::uint32_t>(size));
  append_number(frame, static_cast<std::uint32_t>(messages.size()));
  for (const NewMessage& one : messages) {
    append_number(frame, one.severity);
    append_text<std::uint8_t>(frame, one.key);
    append_text<std::uint32_t>(frame, one.content);
  }
  return frame;
}

std::optional<std::vector<NewMessage>> decode_request(std::string_view body) {
  FieldReader fields(body);
  const auto count = fields.number<std::uint32_t>();
  // Reject a count of messages that do not fit in the body, before memory is reserved for them.
  if (count == 0 || count > body.size() / kMinMessage) return std::nullopt;
  std::vector<NewMessage> messages;
  messages.reserve(count);
  for (std::uint32_t i = 0; i < count && !fields.has_failed(); ++i) {
    NewMessage message;
    message.severity = fields.number<std::uint8_t>();
    message.key = fields.text<std::uint8_t>();
    message.content = fields.text<std::uint32_t>();
    if (!check(message)) return std::nullopt;
    messages.push_back(std::move(message));
  }
  return fields.is_whole() ? std::optional(std::move(messages)) : std::nullopt;
}

std::string answer_frame(const Result<std::uint64_t>& first_id) {
  std::string body;
  append_number(body, static_cast<std::uint8_t>(first_id ? 0 : 1));
  if (first_id) {
    append_number(body, *first_id);
  } else {
    append_number(body, static_cast<std::uint8_t>(first_id.error().code));
    body += std::string_view(first_id.error().message).substr(0, kMaxAnswer - body.size());
  }
  std::string frame;
  append_text<std::uint32_t>(frame, body);
  return frame;
}

Result<std::uint64_t> decode_answer(std::string_view body) {
  FieldReader fields(body);
  const auto kind = fields.number<std::uint8_t>();
  if (kind == 0) {
    const auto first_id = fields.number<std::uint64_t>();
    if (fields.is_whole()) return first_id;
  } else if (kind == 1) {
    const auto code = fields.number<std::uint8_t>();
    const bool is_known = code <= static_cast<std::uint8_t>(ErrorCode::kDiscarded);
    if (!fields.has_failed() && is_known) {
      return fail(static_cast<ErrorCode>(code), std::string(fields.rest()));
    }
  }
  return fail(ErrorCode::kIo, "invalid reply to a hand-over");
}

std::size_t body_length(std::string_view header) {
  return get<std::uint32_t>(header.data());
}

}  // namespace quarry::spool
