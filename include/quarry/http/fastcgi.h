// FastCGI 1.0 for both ends of a connection: records and name-value pairs. All numbers are
// big-endian; names and layout follow libfcgi's fastcgi.h.
//
//   record   version 1 │ type │ request id (2) │ content length (2) │ padding length │ reserved
//            │ content │ padding
//   pair     name length │ value length │ name │ value; a length below 128 has 1 byte, a larger one
//            has 4 bytes with the highest bit set
#pragma once

#include <fastcgi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// Maximum number of content bytes in a record without padding: the largest multiple of 8 below 64
/// KiB.
inline constexpr std::size_t kMaxContent = 65528;

/// Limits on the number of a request's parameters and on their total size in bytes.
inline constexpr std::size_t kMaxParams = 300;
inline constexpr std::size_t kMaxParamsSize = std::size_t{64} << 10;

struct RecordHeader {
  std::uint8_t type = 0;  // such as FCGI_STDOUT; a peer can send any value
  std::uint16_t request_id = FCGI_NULL_REQUEST_ID;
  std::uint16_t content_length = 0;
  std::uint8_t padding_length = 0;

  /// Returns the number of bytes of the whole record.
  std::size_t record_size() const {
    return std::size_t{FCGI_HEADER_LEN} + content_length + padding_length;
  }
};

using RecordHeaderBytes = std::array<char, FCGI_HEADER_LEN>;

RecordHeaderBytes encode(const RecordHeader& header);
/// Returns the header at the start of BYTES. Returns nullopt if BYTES is too short or has another
/// version.
std::optional<RecordHeader> decode(std::string_view bytes);

/// Appends a record with CONTENT (at most 65,535 bytes) and PADDING bytes of padding.
void append_record(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content, std::uint8_t padding = 0);
/// Appends CONTENT in one or more records. Appends nothing if CONTENT is empty.
void append_stream(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content);

/// Returns the content of a BEGIN_REQUEST record for a responder. FLAGS is FCGI_KEEP_CONN or 0.
std::string begin_content(std::uint8_t flags = 0);
/// Returns the content of an END_REQUEST record. STATUS is a value such as FCGI_REQUEST_COMPLETE.
std::string end_content(std::uint8_t status = FCGI_REQUEST_COMPLETE);
/// Returns whether a record with HEADER and CONTENT begins a request to a responder.
bool begins_request(const RecordHeader& header, std::string_view content);

struct RecordPart {
  RecordHeader header;
  std::string_view content;
  bool is_first = false;
  bool is_last = false;
};

/// Reads records from pieces of any size. Buffers headers only.
class RecordReader {
 public:
  /// Removes the next part of a record from the front of BYTES and returns it. Returns nullopt if
  /// more bytes are needed, or if is_malformed().
  std::optional<RecordPart> next(std::string_view& bytes);
  /// Returns whether the version of the current record is not FCGI_VERSION_1.
  bool is_malformed() const { return header_size_ > 0 && version() != FCGI_VERSION_1; }
  std::uint8_t version() const { return static_cast<std::uint8_t>(header_bytes_[0]); }

 private:
  bool take_header(std::string_view& bytes);

  RecordHeaderBytes header_bytes_{};
  std::size_t header_size_ = 0;  // number of received bytes
  RecordHeader header_;
  std::size_t content_left_ = 0;
  std::size_t padding_left_ = 0;
  bool is_inside_ = false;  // the header was returned, but the content is incomplete
};

void append_pair(std::string& pairs, std::string_view name, std::string_view value);

struct Pair {
  std::string_view name;
  std::string_view value;
};
/// Removes the first pair from PAIRS and returns it. Returns nullopt if PAIRS is empty, if the
/// lengths are wrong, or if the pair contains a NUL, which would truncate a C string.
std::optional<Pair> take_pair(std::string_view& pairs);

}  // namespace quarry::http
