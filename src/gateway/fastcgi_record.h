// One request on one connection, as the web server's side of FastCGI has it: records are those of
// quarry/http/fastcgi.h.
//
//   sent     BEGIN_REQUEST (responder, no kept connection) PARAMS… PARAMS(empty)
//            STDIN… STDIN(empty)
//   read     STDOUT… STDERR… in any mixture, then END_REQUEST
//
// Connections are not kept: a worker that holds one can serve nobody else.
#pragma once

#include <event2/buffer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace quarry::gateway {

/// The name-value pairs of a request, in the form in which PARAMS records carry them.
class Params {
 public:
  void add(std::string_view name, std::string_view value) {
    http::append_pair(bytes_, name, value);
  }
  const std::string& bytes() const { return bytes_; }
  void reserve(std::size_t size) { bytes_.reserve(size); }

 private:
  std::string bytes_;
};

/// Appends a whole request to OUT: PARAMS as Params made them, and all of BODY, which is left
/// empty. BODY may be null. False: no memory.
bool append_request(evbuffer* out, std::string_view params, evbuffer* body);

/// Who gets what the records hold.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on_stdout(std::string_view bytes) = 0;
  virtual void on_stderr(std::string_view bytes) = 0;
};

/// Reads the pool's records from pieces of any size. Holds no more than eight bytes itself.
class RecordReader {
 public:
  enum class Status { kMore, kEnd, kBad };

  /// Reads BYTES. kEnd: END_REQUEST has come and nothing more is expected. kBad: error() says why.
  Status feed(std::string_view bytes, RecordSink& sink);

  const std::string& error() const { return error_; }
  /// Of END_REQUEST; 0 is a request that was answered, others are refusals (OVERLOADED is 2).
  std::uint8_t protocol_status() const { return static_cast<std::uint8_t>(block_[4]); }

 private:
  enum class Part { kHeader, kContent, kPadding };

  Status take_header();
  bool take_content(std::string_view bytes, RecordSink& sink);
  Status bad(std::string error);

  Part part_ = Part::kHeader;
  http::RecordType type_{};
  std::size_t content_left_ = 0;
  std::size_t padding_left_ = 0;
  bool stdout_ended_ = false;
  /// A header, or the content of END_REQUEST, as far as it has come.
  std::array<char, http::kRecordHeaderSize> block_{};
  std::size_t block_size_ = 0;
  std::string error_;
};

}  // namespace quarry::gateway
