// FastCGI 1.0 for both ends of a connection: records, and the name-value pairs in some of them. All
// numbers are big-endian; their names and the layout are those of libfcgi's fastcgi.h.
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

/// The most content that needs no padding, in bytes: the largest multiple of 8 below 64 KiB.
inline constexpr std::size_t kMostContent = 65528;

/// Limits on a request's parameters: their number, and their bytes.
inline constexpr std::size_t kMaxParams = 300;
inline constexpr std::size_t kMaxParamsSize = std::size_t{64} << 10;

struct RecordHeader {
  std::uint8_t type = 0;  // FCGI_STDOUT, say; any number in what a peer has sent
  std::uint16_t request_id = FCGI_NULL_REQUEST_ID;
  std::uint16_t content_length = 0;
  std::uint8_t padding_length = 0;

  /// Bytes of the whole record.
  std::size_t record_size() const {
    return std::size_t{FCGI_HEADER_LEN} + content_length + padding_length;
  }
};

using RecordHeaderBytes = std::array<char, FCGI_HEADER_LEN>;

RecordHeaderBytes encode(const RecordHeader& header);
/// The header at the beginning of BYTES. Nothing if they are shorter, or of another version.
std::optional<RecordHeader> decode(std::string_view bytes);

/// Appends a record with CONTENT, 65,535 bytes at most, and PADDING bytes after it.
void append_record(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content, std::uint8_t padding = 0);
/// Appends CONTENT in as many records as it needs: none if it is empty.
void append_stream(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content);

/// The content of a BEGIN_REQUEST record to a responder. FLAGS: FCGI_KEEP_CONN or 0.
std::string begin_content(std::uint8_t flags = 0);
/// The content of an END_REQUEST record: STATUS is FCGI_REQUEST_COMPLETE, say.
std::string end_content(std::uint8_t status = FCGI_REQUEST_COMPLETE);
/// Whether a record with HEADER and CONTENT begins a request to a responder.
bool begins_request(const RecordHeader& header, std::string_view content);

/// A record, or as much of one as has come.
struct RecordPart {
  RecordHeader header;
  std::string_view content;
  bool is_first = false;
  bool is_last = false;
};

/// Reads records from pieces of any size, and keeps no more than a header of them.
class RecordReader {
 public:
  /// Takes the next part of a record off BYTES. Nothing if more must come first, or is_malformed().
  std::optional<RecordPart> next(std::string_view& bytes);
  /// A record of another version has begun.
  bool is_malformed() const { return header_size_ > 0 && version() != FCGI_VERSION_1; }
  std::uint8_t version() const { return static_cast<std::uint8_t>(header_bytes_[0]); }

 private:
  bool take_header(std::string_view& bytes);

  RecordHeaderBytes header_bytes_{};
  std::size_t header_size_ = 0;  // bytes of it that have come
  RecordHeader header_;
  std::size_t content_left_ = 0;
  std::size_t padding_left_ = 0;
  bool is_inside_ = false;  // the header was returned, the last of the content was not
};

void append_pair(std::string& pairs, std::string_view name, std::string_view value);

struct Pair {
  std::string_view name;  // not empty
  std::string_view value;
};
/// Takes the first pair off PAIRS. Nothing if there is none, its lengths are wrong, or it has a NUL,
/// which would end it early when it is read as a C string.
std::optional<Pair> take_pair(std::string_view& pairs);

}  // namespace quarry::http
