#include "message_source.h"

#include <fmt/core.h>

namespace quarry::spool {

namespace {

/// Returns the position of the record that READER has just read. BEFORE is the position of READER
/// before it read the record. For the first record of a segment, returns the position at the start
/// of this segment, so that earlier segments are not needed.
Position position_of_last(const Position& before, const SegmentReader& reader) {
  const Position& after = reader.position();
  if (before.segment == after.segment && before.offset >= kSegmentHeader) return before;
  return {.segment = after.segment, .offset = kSegmentHeader, .sequence = after.sequence - 1};
}

}  // namespace

Result<std::optional<MessageSource::NextMessage>> MessageSource::next(std::uint64_t end) {
  while (true) {
    const Position before = fresh_->position();
    QUARRY_TRY_ASSIGN(const bool has_one, fresh_->next(end, record_));
    if (!has_one) return std::nullopt;
    const auto envelope = open_envelope(record_.content);
    const std::uint64_t sequence = position().sequence - 1;
    if (!envelope) {
      reporter_(fmt::format("{}: message {} is not in the stream format",
                            files_.shown(position().segment), sequence));
    } else if (is_for_us(*envelope)) {
      return NextMessage{.message = message_in(*envelope, sequence, record_.severity),
                         .at = position_of_last(before, *fresh_)};
    }
  }
}

std::uint64_t MessageSource::take_missing() {
  const std::uint64_t before = std::exchange(missing_, fresh_->missing());
  // If the number has decreased, start_at() has created a new reader, whose count starts at 0.
  return missing_ >= before ? missing_ - before : missing_;
}

Result<std::optional<StreamedMessage>> MessageSource::find(std::uint64_t sequence,
                                                           const Position& at) {
  // Reuse the reader if the message follows the last one. This is common, because messages that
  // were taken together are next to each other.
  if (!again_ || again_->position() != at) again_.emplace(files_, reporter_, at, written_);
  while (true) {
    const Position before = again_->position();
    QUARRY_TRY_ASSIGN(const bool has_one, again_->next(sequence + 1, record_));
    const std::uint64_t found = again_->position().sequence - 1;
    if (has_one && found < sequence) continue;
    const auto envelope = has_one ? open_envelope(record_.content) : std::nullopt;
    if (!envelope || found != sequence || !is_for_us(*envelope)) return std::nullopt;
    found_at_ = position_of_last(before, *again_);
    return message_in(*envelope, sequence, record_.severity);
  }
}

}  // namespace quarry::spool
