// FastCGI 1.0 as both ends of a connection have it: records, and the pairs of name and value in
// some of them. All numbers are big-endian.
//
//   record   version 1 │ type │ request id (2) │ content length (2) │ padding length │ reserved
//            │ content │ padding
//   pair     name length │ value length │ name │ value; a length is 1 byte below 128, otherwise 4
//            bytes with the highest bit set
#pragma once

#include <fastcgi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

enum class RecordType : std::uint8_t {
  kBeginRequest = FCGI_BEGIN_REQUEST,
  kAbortRequest = FCGI_ABORT_REQUEST,
  kEndRequest = FCGI_END_REQUEST,
  kParams = FCGI_PARAMS,
  kStdin = FCGI_STDIN,
  kStdout = FCGI_STDOUT,
  kStderr = FCGI_STDERR,
  kGetValues = FCGI_GET_VALUES,
  kGetValuesResult = FCGI_GET_VALUES_RESULT,
};

/// Bytes of a record before its content.
inline constexpr std::size_t kRecordHeaderSize = FCGI_HEADER_LEN;
/// The most content that needs no padding, in bytes: the largest multiple of 8 below 64 KiB.
inline constexpr std::size_t kMostContent = 65528;

/// What a request may have at most: so many parameters, and so many bytes of them.
inline constexpr std::size_t kMaxParams = 300;
inline constexpr std::size_t kMaxParamsSize = std::size_t{64} << 10;

struct RecordHeader {
  RecordType type;  // as it came: any number
  std::uint16_t request_id = 0;
  std::uint16_t content_length = 0;
  std::uint8_t padding_length = 0;
};

using RecordHeaderBytes = std::array<char, kRecordHeaderSize>;

RecordHeaderBytes encode(const RecordHeader& header);
/// BYTES begins with a record. Nothing where that is of another version, or less than a header is
/// there.
std::optional<RecordHeader> decode(std::string_view bytes);

/// The 16 bits that BYTES, two at least, begins with.
std::uint16_t word_of(std::string_view bytes);

void append_pair(std::string& pairs, std::string_view name, std::string_view value);

struct Pair {
  std::string_view name;  // not empty
  std::string_view value;
};
/// Takes the first pair off PAIRS; nothing where there is none, or where its lengths lie.
std::optional<Pair> take_pair(std::string_view& pairs);

}  // namespace quarry::http
