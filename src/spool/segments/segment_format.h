// The files of a disk queue, and their format. All numbers are little-endian.
//
//   NAME.00000001, NAME.00000002, …   segments: messages in the order in which they were taken
//   NAME.qi                           the read position (see spool_files.h)
//   NAME.write.lock, NAME.read.lock   held by the writing and the reading process, usually the same
//
//   segment = header record*
//   header  = "QSPOOL" format:2 number:8 first:8 checksum:4 zero:4       32 bytes
//   record  = length:4 severity:1 check:3 checksum:4 content              12 bytes and the content
//
// `number` is the number in the file's name, `first` the sequence number of the first message. The
// following messages are numbered consecutively, across segments. A record's checksum is the CRC-32
// of its segment's number, its sequence number, its length, its severity and its content. So a
// record is valid only at its original position. `check` covers the data before the content, so
// that the length can be trusted before the content is read.
//
// Only the process that has created a segment appends to it, and written data never changes. A new
// process starts a new segment. If a record is cut off at the end of a file, the process was killed
// before it accepted the message. If a complete record has a wrong checksum, the file is damaged.
// If the first sequence number of a segment does not follow the last number of the previous
// segment, messages are missing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/spool/message.h"

namespace quarry::spool {

inline constexpr std::size_t kSegmentHeader = 32;
inline constexpr std::size_t kRecordHeader = 12;
inline constexpr std::uint16_t kFormat = 1;

struct SegmentHeader {
  std::uint64_t number = 0;
  std::uint64_t first = 0;
};

/// A position between two messages.
struct Position {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;    // offset in the segment
  std::uint64_t sequence = 0;  // sequence number of the next message

  friend auto operator<=>(const Position&, const Position&) = default;
};

std::string encode(const SegmentHeader& header);
/// Decodes the header at the start of BYTES. Errors: kCorrupt (not a segment, another format, or a
/// damaged header).
Result<SegmentHeader> decode_header(std::string_view bytes);

/// Appends MESSAGE, with sequence number SEQUENCE, to TO as a record of segment NUMBER.
void encode(std::string& to, std::uint64_t number, std::uint64_t sequence, const Message& message);

enum class RecordState : std::uint8_t { kWhole, kCutOff, kDamaged };
struct RecordView {
  RecordState state = RecordState::kCutOff;
  std::string_view content;
  std::uint8_t severity = 0;
  std::size_t bytes = 0;  // size of the record, or number of bytes needed to continue
};
/// Decodes the record at the start of BYTES.
RecordView decode_record(std::string_view bytes, std::uint64_t number, std::uint64_t sequence);

/// Decodes a record at the start of BYTES if its position is unknown. The result is whole if both
/// checksums match for some position, and otherwise damaged. Other data match by chance, in one of
/// 2^24 cases. The time for decoding is proportional to the size of the record's content.
RecordView decode_stray_record(std::string_view bytes);

/// Returns the file name of a segment, such as NAME.00000042.
std::string segment_name(std::string_view name, std::uint64_t number);
/// Returns the number in a file name, such as 42 for NAME.00000042. Returns nullopt for other
/// files.
std::optional<std::uint64_t> segment_number(std::string_view name, std::string_view file);

}  // namespace quarry::spool
