// Reads a FastCGI request as it arrives, record by record (quarry/http/fastcgi.h):
//
//   BEGIN_REQUEST (responder) · PARAMS… · PARAMS (empty) · STDIN… · STDIN (empty)
//
// The reader buffers the request. The reader rejects a request before a limit is exceeded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quarry/http/fastcgi.h"
#include "request/page_request.h"

namespace quarry::pages {

class RequestReader {
 public:
  enum class Status {
    kMore,       // valid, but incomplete
    kComplete,   // request() is complete
    kAborted,    // the web server has cancelled the request
    kMalformed,  // not a valid request
    kTooLarge,   // the body is too large; all parameters are available
  };

  explicit RequestReader(std::size_t max_body);

  /// Reads complete records and removes them from INPUT.
  Status feed(evbuffer* input);

  std::uint16_t id() const { return id_; }
  PageRequest& request() { return request_; }
  /// Returns the current size of the body in bytes.
  std::size_t body_size() const { return evbuffer_get_length(request_.body.get()); }

 private:
  enum class Part { kBegin, kParams, kBody, kDone };

  Status take(const http::RecordHeader& header, evbuffer* input);
  Status take_params(std::string_view content);
  Status take_body(const http::RecordHeader& header, evbuffer* input);
  bool parse_params();

  std::size_t max_body_;
  Part part_ = Part::kBegin;
  std::uint16_t id_ = 0;
  std::string params_;
  PageRequest request_;
};

}  // namespace quarry::pages
