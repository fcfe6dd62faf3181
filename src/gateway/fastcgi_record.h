// The web server's side of FastCGI, with one request per connection. quarry/http/fastcgi.h defines
// the records.
//
//   sent     BEGIN_REQUEST (responder, no kept connection) PARAMS… PARAMS(empty)
//            STDIN… STDIN(empty)
//   read     STDOUT… STDERR… in any mixture, then END_REQUEST
//
// Connections are not kept open, because an idle connection would occupy a worker.
#pragma once

#include <event2/buffer.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace quarry::gateway {

/// Appends a complete request to OUT: PARAMS, encoded by http::append_pair(), and BODY. BODY can be
/// null; otherwise it is drained. Returns false if memory is exhausted.
bool append_request(evbuffer* out, std::string_view params, evbuffer* body);

/// Reads a pool's reply in pieces of any size. Passes each piece on immediately.
class ReplyReader {
 public:
  enum class Status { kMore, kEnd, kBad };

  /// Reads BYTES. Appends the contents of STDOUT to OUT, and the beginning of STDERR to ERRORS.
  /// Returns kEnd at END_REQUEST. Returns kBad if the reply is invalid; error() has the reason.
  Status feed(std::string_view bytes, evbuffer* out, std::string& errors);

  const std::string& error() const { return error_; }
  /// Returns the status after kEnd. FCGI_REQUEST_COMPLETE means that the request was answered;
  /// other values, such as FCGI_OVERLOADED, are refusals.
  std::uint8_t protocol_status() const;

 private:
  /// Returns the reason why a record with HEADER is not allowed now, or "" if it is allowed.
  std::string error_in(const http::RecordHeader& header);

  http::RecordReader records_;
  bool stdout_ended_ = false;
  std::string end_;  // received content of END_REQUEST
  std::string error_;
};

}  // namespace quarry::gateway
