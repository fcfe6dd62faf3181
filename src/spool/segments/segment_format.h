// The files of a disk queue, and the bytes in them. All numbers are little-endian.
//
//   NAME.00000001, NAME.00000002, …   segments: messages in the order in which they were taken
//   NAME.qi                           how far they are delivered (see spool_files.h)
//   NAME.write.lock, NAME.read.lock   held by who enqueues, and who delivers; mostly one process
//
//   segment = header record*
//   header  = "QSPOOL" format:2 number:8 first:8 checksum:4 zero:4       32 bytes
//   record  = length:4 severity:1 check:3 checksum:4 content              12 bytes and the content
//
// `number` is that of the file's name, `first` the sequence number of the first message; those of
// the others follow, through all segments. A record's checksum is the CRC-32 of its segment's
// number, its sequence number, its length, its severity, and its content: a record that lies
// anywhere but in its place is none. `check` is of what is before the content, so that the length
// can be believed before the content is there. A segment is only appended to, by the process that
// made it; whoever starts begins another. So a record that is cut off at the end of a file was
// never taken (the process was killed), a complete one with a wrong checksum is damage, and a
// segment whose first is not one more than the last of the segment before tells that something is
// missing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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

/// A place between two messages.
struct Position {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;    // in the segment
  std::uint64_t sequence = 0;  // of the message after it

  friend auto operator<=>(const Position&, const Position&) = default;
};

std::string encode(const SegmentHeader& header);
/// Errors: kCorrupt: no segment, one of another format, or a damaged header.
base::Result<SegmentHeader> decode_header(std::string_view bytes);

/// Appends MESSAGE, the SEQUENCE-th, as a record of segment NUMBER.
void encode(std::string& to, std::uint64_t number, std::uint64_t sequence, const Message& message);

enum class RecordState : std::uint8_t { kWhole, kCutOff, kDamaged };
struct RecordView {
  RecordState state = RecordState::kCutOff;
  std::string_view content;
  std::uint8_t severity = 0;
  std::size_t bytes = 0;  // of the whole record; where it is cut off: what is needed to go on
};
/// The record at the beginning of BYTES.
RecordView decode_record(std::string_view bytes, std::uint64_t number, std::uint64_t sequence);

/// The record at the beginning of BYTES, whose place is not known: whole, if its checksums agree
/// about one (24 bits), else damaged. Takes as long as its content is.
RecordView decode_stray_record(std::string_view bytes);

/// NAME.00000042
std::string segment_name(std::string_view name, std::uint64_t number);
/// 42, of NAME.00000042; nothing for other files.
std::optional<std::uint64_t> segment_number(std::string_view name, std::string_view file);

}  // namespace quarry::spool
