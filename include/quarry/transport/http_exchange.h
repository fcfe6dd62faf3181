// One HTTP request and its reply, with libcurl, for requests other than syncs. Redirects are not
// followed, because a request may be signed for its path and for one server.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

struct HttpRequest {
  std::string method = "GET";  // or POST
  std::string url;             // without user and password
  std::vector<std::string> headers;
  std::string_view body;  // for POST
};

struct HttpReply {
  long status = 0;
  std::string content_type;
  std::string body;
};

/// Errors: kIo (cannot connect, or the connection broke), kDenied (untrusted certificate), kLimit
/// (the reply is longer than OPTIONS allow).
base::Result<HttpReply> exchange(const HttpRequest& request, const TransportOptions& options);

}  // namespace quarry::transport
