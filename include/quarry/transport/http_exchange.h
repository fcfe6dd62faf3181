// HTTP requests with libcurl. Redirects are not followed, because a signed request is valid only
// for its own server and path.
#pragma once

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
  std::string location;  // target of a redirect, or empty
  std::string address;   // IP address of the server
  std::string body;
};

/// Returns the first line of REPLY, escaped for printing, or an empty string if REPLY is not plain
/// text.
std::string plain_text_of(const HttpReply& reply);

/// An HTTP client that keeps its connection open between requests.
class HttpClient {
 public:
  explicit HttpClient(TransportOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends REQUEST and returns the reply. Errors: kIo (cannot connect, the connection broke, or
  /// is_interrupted returned true), kDenied (untrusted certificate), kLimit (the reply is longer
  /// than the options allow).
  Result<HttpReply> exchange(const HttpRequest& request);

 private:
  TransportOptions options_;
  void* curl_;
};

/// Sends a single request over a separate connection.
inline Result<HttpReply> exchange(const HttpRequest& request, const TransportOptions& options) {
  return HttpClient(options).exchange(request);
}

}  // namespace quarry::transport
