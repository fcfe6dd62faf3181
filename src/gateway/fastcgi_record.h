// The web server's side of FastCGI, with one request per connection. Records are those of
// quarry/http/fastcgi.h.
//
//   sent     BEGIN_REQUEST (responder, no kept connection) PARAMS… PARAMS(empty)
//            STDIN… STDIN(empty)
//   read     STDOUT… STDERR… in any mixture, then END_REQUEST
//
// Connections are not kept alive, because an idle one would occupy a worker.
#pragma once

#include <event2/buffer.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace quarry::gateway {

/// The name-value pairs of a request, encoded for PARAMS records.
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

/// Appends a complete request to OUT: PARAMS as encoded by Params, and BODY (may be null), which is
/// drained. False: out of memory.
bool append_request(evbuffer* out, std::string_view params, evbuffer* body);

/// Receives the streams of a reply.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void on_stdout(std::string_view bytes) = 0;
  virtual void on_stderr(std::string_view bytes) = 0;
};

/// Reads a pool's reply from pieces of any size, and passes each on immediately.
class ReplyReader {
 public:
  enum class Status { kMore, kEnd, kBad };

  /// Reads BYTES. kEnd: END_REQUEST has arrived. kBad: error() has the reason.
  Status feed(std::string_view bytes, ReplySink& sink);

  const std::string& error() const { return error_; }
  /// After kEnd: FCGI_REQUEST_COMPLETE if the request was answered; other values are refusals, such
  /// as FCGI_OVERLOADED.
  std::uint8_t protocol_status() const;

 private:
  /// Why a record with HEADER is not allowed now; empty if it is.
  std::string error_in(const http::RecordHeader& header);

  http::RecordReader records_;
  bool stdout_ended_ = false;
  std::string end_;  // the content of END_REQUEST received so far
  std::string error_;
};

}  // namespace quarry::gateway
