#include "envelope.h"

#include "segments/little_endian.h"

namespace quarry::spool {
namespace {

constexpr std::uint8_t kEnvelopeFormat = 1;
constexpr std::size_t kFixed = 26;

}  // namespace

Message seal(const Envelope& envelope, std::uint8_t severity) {
  Message message{.content = {}, .severity = severity};
  std::string& to = message.content;
  to.reserve(kFixed + envelope.key.size() + envelope.only.size() + envelope.error.size() +
             envelope.content.size());
  append_number(to, kEnvelopeFormat);
  append_number(to, static_cast<std::uint8_t>(envelope.key.size()));
  append_number(to, static_cast<std::uint8_t>(envelope.only.size()));
  append_number(to, std::uint8_t{0});
  append_number(to, static_cast<std::uint16_t>(envelope.error.size()));
  append_number(to, envelope.attempts);
  append_number(to, static_cast<std::uint64_t>(envelope.taken_at.value));
  append_number(to, envelope.id);
  to.append(envelope.key).append(envelope.only).append(envelope.error).append(envelope.content);
  return message;
}

std::optional<Envelope> open_envelope(std::string_view bytes) {
  FieldReader fields(bytes);
  const auto format = fields.number<std::uint8_t>();
  const auto key = fields.number<std::uint8_t>();
  const auto only = fields.number<std::uint8_t>();
  const auto zero = fields.number<std::uint8_t>();
  const auto error = fields.number<std::uint16_t>();
  Envelope envelope;
  envelope.attempts = fields.number<std::uint32_t>();
  envelope.taken_at.value = static_cast<std::int64_t>(fields.number<std::uint64_t>());
  envelope.id = fields.number<std::uint64_t>();
  envelope.key = fields.bytes(key);
  envelope.only = fields.bytes(only);
  envelope.error = fields.bytes(error);
  if (fields.has_failed() || format != kEnvelopeFormat || zero != 0) return std::nullopt;
  envelope.content = fields.rest();
  return envelope;
}

Message seal_again(const StreamedMessage& message, std::string_view only, std::string_view error,
                   std::uint32_t attempts) {
  return seal({.key = message.key,
               .only = only,
               .error = error,
               .attempts = attempts,
               .taken_at = message.taken_at,
               .id = message.id,
               .content = message.content},
              message.severity);
}

StreamedMessage message_in(const Envelope& envelope, std::uint64_t sequence,
                           std::uint8_t severity) {
  return {.id = envelope.id != 0 ? envelope.id : sequence,
          .sequence = sequence,
          .taken_at = envelope.taken_at,
          .attempts = envelope.attempts,
          .severity = severity,
          .key = std::string(envelope.key),
          .content = std::string(envelope.content),
          .error = std::string(envelope.error)};
}

}  // namespace quarry::spool
