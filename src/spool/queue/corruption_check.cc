#include "corruption_check.h"

#include <fmt/core.h>

#include <array>

namespace quarry::spool {
namespace {

using base::ErrorCode;
using base::FileUse;
using base::Result;
using Finding = std::optional<std::string>;

/// What is wrong with the segment NUMBER, of which the first OFFSET bytes have been read before.
Result<Finding> look_at_segment(const SpoolFiles& files, std::uint64_t number,
                                std::uint64_t offset) {
  QUARRY_TRY_ASSIGN(const auto file, files.system().open(files.segment(number), FileUse::kRead));
  std::array<char, kSegmentHeader> bytes;
  QUARRY_TRY_ASSIGN(const std::size_t size, file->read_at(0, bytes));
  QUARRY_TRY_ASSIGN(const std::uint64_t end, file->size());
  if (end < offset) return fmt::format("{}: it was cut short", files.shown(number));
  // Its process was killed before there was a message.
  if (size < bytes.size()) return std::nullopt;
  const auto header = decode_header({bytes.data(), size});
  if (!header) return fmt::format("{}: {}", files.shown(number), header.error().message);
  if (header->number == number) return std::nullopt;
  return fmt::format("{}: it is another segment under this name", files.shown(number));
}

}  // namespace

Result<Finding> look_for_damage(const SpoolFiles& files) {
  const auto position = files.position();
  if (!position && position.error().code == ErrorCode::kCorrupt) return position.error().message;
  if (!position) return std::unexpected(position.error());
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  if (segments.empty()) return std::nullopt;
  const Position start =
      position->value_or(Position{.segment = segments.front(), .offset = 0, .sequence = 0});
  if (*position && !files.is_of_these(start, segments)) {
    return std::string("the position file is not of these segments");
  }
  // Those before it are done with. One that it points behind has gone with them.
  std::uint64_t expected = start.segment;
  for (const std::uint64_t number : segments) {
    if (number < start.segment) continue;
    if (number != expected) return fmt::format("{}: it is missing", files.shown(expected));
    const std::uint64_t offset = number == start.segment ? start.offset : 0;
    QUARRY_TRY_ASSIGN(auto found, look_at_segment(files, number, offset));
    if (found) return found;
    ++expected;
  }
  return std::nullopt;
}

}  // namespace quarry::spool
