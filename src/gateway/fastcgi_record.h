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

/// Takes the streams of a reply.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void on_stdout(std::string_view bytes) = 0;
  virtual void on_stderr(std::string_view bytes) = 0;
};

/// Reads a pool's reply from pieces of any size, and passes on each at once.
class ReplyReader {
 public:
  enum class Status { kMore, kEnd, kBad };

  /// Reads BYTES. kEnd: END_REQUEST has come and nothing more is expected. kBad: error() says why.
  Status feed(std::string_view bytes, ReplySink& sink);

  const std::string& error() const { return error_; }
  /// After kEnd: FCGI_REQUEST_COMPLETE if the request was answered; others are refusals
  /// (FCGI_OVERLOADED, say).
  std::uint8_t protocol_status() const;

 private:
  /// Why a record with HEADER has no place here; empty if it has.
  std::string error_in(const http::RecordHeader& header);

  http::RecordReader records_;
  bool stdout_ended_ = false;
  std::string end_;  // the content of END_REQUEST, as far as it has come
  std::string error_;
};

}  // namespace quarry::gateway
