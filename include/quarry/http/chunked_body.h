// Decodes a chunked request body (RFC 9112, section 7.1).
//
//   5;name=value CRLF    size in hexadecimal, and extensions, which are discarded
//   hello CRLF
//   0 CRLF               the last chunk
//   Name: value CRLF     trailer fields, which are discarded
//   CRLF
//
// The decoder is strict, so that a proxy and the gateway agree on the end of the body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::http {

class ChunkedBody {
 public:
  enum class Status { kMore, kEnd, kTooLarge, kMalformed };

  /// Creates a decoder for a body of at most MAX_BODY bytes.
  explicit ChunkedBody(std::size_t max_body) : max_body_(max_body) {}

  /// Removes the bytes of the body from BYTES, and appends its decoded content to OUT. After kEnd,
  /// BYTES contains the bytes that follow the body. After kTooLarge and kMalformed, the decoder
  /// must not be used any more.
  Status feed(std::string_view& bytes, std::string& out);

 private:
  enum class Part { kSize, kData, kEndOfData, kTrailer, kDone };

  /// Moves bytes from BYTES to line_, up to a line end. Returns kEnd if the line is complete.
  Status read_line(std::string_view& bytes);
  Status on_line();
  Status on_size();
  Status on_trailer_field();

  std::size_t max_body_;
  std::size_t size_ = 0;  // size of the decoded body, including the current chunk
  std::size_t left_ = 0;  // of the current chunk
  std::size_t trailer_size_ = 0;
  std::string line_;
  Part part_ = Part::kSize;
};

}  // namespace quarry::http
