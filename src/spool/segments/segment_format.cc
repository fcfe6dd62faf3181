#include "segment_format.h"

#include <fmt/core.h>
#include <libdeflate.h>

#include <array>

#include "little_endian.h"
#include "quarry/base/number.h"

namespace quarry::spool {
namespace {

constexpr std::string_view kMagic = "QSPOOL";

/// Returns the checksum of a record without its content.
std::uint32_t checksum_of_prefix(std::uint64_t number, std::uint64_t sequence, std::uint32_t length,
                                 std::uint8_t severity) {
  std::array<char, 24> prefix{};
  put(prefix.data(), number);
  put(prefix.data() + 8, sequence);
  put(prefix.data() + 16, length);
  prefix[20] = static_cast<char>(severity);
  return libdeflate_crc32(0, prefix.data(), prefix.size());
}

/// Tables for computing a CRC-32 backwards: the value for each byte, and the byte whose value has a
/// given highest byte.
struct CrcTables {
  std::array<std::uint32_t, 256> of{};
  std::array<std::uint8_t, 256> byte_of{};
};
constexpr CrcTables make_crc_tables() {
  CrcTables tables;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320U : 0);
    tables.of[byte] = value;
    tables.byte_of[value >> 24] = static_cast<std::uint8_t>(byte);
  }
  return tables;
}
constexpr CrcTables kCrc = make_crc_tables();

/// Computes the CRC-32 backwards: returns the checksum of the bytes before CONTENT, if CHECKSUM is
/// the checksum of these bytes and CONTENT.
std::uint32_t before_content(std::uint32_t checksum, std::string_view content) {
  std::uint32_t value = ~checksum;
  for (auto at = content.rbegin(); at != content.rend(); ++at) {
    const std::uint8_t index = kCrc.byte_of[value >> 24];
    value = (value ^ kCrc.of[index]) << 8 | (index ^ static_cast<unsigned char>(*at));
  }
  return ~value;
}

/// Returns whether the `check` field of RECORD, 24 bits after the severity, matches CHECKSUM.
bool has_check(std::string_view record, std::uint32_t checksum) {
  return get<std::uint32_t>(record.data() + 4) >> 8 == (checksum & 0xffffff);
}

}  // namespace

std::string encode(const SegmentHeader& header) {
  std::string bytes(kSegmentHeader, '\0');
  bytes.replace(0, kMagic.size(), kMagic);
  put(bytes.data() + 6, kFormat);
  put(bytes.data() + 8, header.number);
  put(bytes.data() + 16, header.first);
  put(bytes.data() + 24, libdeflate_crc32(0, bytes.data(), 24));
  return bytes;
}

Result<SegmentHeader> decode_header(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return fail(ErrorCode::kCorrupt, "not a segment file");
  }
  if (bytes.size() < kSegmentHeader) {
    return fail(ErrorCode::kCorrupt, "the header is truncated");
  }
  const auto format = get<std::uint16_t>(bytes.data() + 6);
  if (format != kFormat) {
    return fail(ErrorCode::kCorrupt,
                "unsupported format {} (this program supports {}): export the messages "
                "with the program that wrote them",
                format, kFormat);
  }
  if (get<std::uint32_t>(bytes.data() + 24) != libdeflate_crc32(0, bytes.data(), 24)) {
    return fail(ErrorCode::kCorrupt, "the header is damaged");
  }
  return SegmentHeader{.number = get<std::uint64_t>(bytes.data() + 8),
                       .first = get<std::uint64_t>(bytes.data() + 16)};
}

void encode(std::string& to, std::uint64_t number, std::uint64_t sequence, const Message& message) {
  const auto length = static_cast<std::uint32_t>(message.content.size());
  const std::uint32_t seed = checksum_of_prefix(number, sequence, length, message.severity);
  std::array<char, kRecordHeader> header{};
  put(header.data(), length);
  put(header.data() + 4, seed << 8 | message.severity);
  put(header.data() + 8, libdeflate_crc32(seed, message.content.data(), message.content.size()));
  to.append(header.data(), header.size());
  to.append(message.content);
}

RecordView decode_record(std::string_view bytes, std::uint64_t number, std::uint64_t sequence) {
  RecordView record;
  record.bytes = kRecordHeader;
  if (bytes.size() < kRecordHeader) return record;
  const auto length = get<std::uint32_t>(bytes.data());
  record.severity = static_cast<std::uint8_t>(bytes[4]);
  const std::uint32_t seed = checksum_of_prefix(number, sequence, length, record.severity);
  if (length > kMaxContent || record.severity > kLeastSevere || !has_check(bytes, seed)) {
    record.state = RecordState::kDamaged;
    return record;
  }
  record.bytes += length;
  if (bytes.size() < record.bytes) return record;
  record.content = bytes.substr(kRecordHeader, length);
  const bool is_right = get<std::uint32_t>(bytes.data() + 8) ==
                        libdeflate_crc32(seed, record.content.data(), record.content.size());
  record.state = is_right ? RecordState::kWhole : RecordState::kDamaged;
  return record;
}

RecordView decode_stray_record(std::string_view bytes) {
  RecordView record;
  record.state = RecordState::kDamaged;
  if (bytes.size() < kRecordHeader) return record;
  const auto length = get<std::uint32_t>(bytes.data());
  record.severity = static_cast<std::uint8_t>(bytes[4]);
  const bool is_nothing = bytes.substr(0, kRecordHeader).find_first_not_of('\0') == bytes.npos;
  if (is_nothing || record.severity > kLeastSevere || length > bytes.size() - kRecordHeader) {
    return record;
  }
  record.bytes = kRecordHeader + length;
  record.content = bytes.substr(kRecordHeader, length);
  const std::uint32_t seed = before_content(get<std::uint32_t>(bytes.data() + 8), record.content);
  if (has_check(bytes, seed)) record.state = RecordState::kWhole;
  return record;
}

std::string segment_name(std::string_view name, std::uint64_t number) {
  return fmt::format("{}.{:08}", name, number);
}

std::optional<std::uint64_t> segment_number(std::string_view name, std::string_view file) {
  if (!file.starts_with(name) || file.size() == name.size()) return std::nullopt;
  const auto number = base::parse_number<std::uint64_t>(file.substr(name.size() + 1));
  return number && segment_name(name, *number) == file ? number : std::nullopt;
}

}  // namespace quarry::spool
