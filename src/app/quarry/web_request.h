// Reads HTTP requests in a program that is started for each connection or request. Requests come
// from standard input (inetd, ssh) or from a CGI environment.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/http/request_head.h"

namespace quarry::app {

struct WebRequest {
  std::string method;
  std::string uri;     // as the client wrote it, for logs; in a CGI program, only the path
  std::string path;    // decoded; in a CGI program, without the program's own path
  std::string target;  // path and query, as the client wrote them
  std::string query;   // without the question mark
  std::string host;
  std::string content_type;
  std::string cookie;
  std::string accept;
  std::string date;  // X-Quarry-Date
  std::string remote_address;
  std::string remote_user;  // the user that the web server has authenticated; only with CGI
  std::string body;
  bool is_https = false;
  bool has_http_head = true;  // whether the reply begins with an HTTP status line; false with CGI
};

template <typename T>
using OrRefusal = std::expected<T, http::Refusal>;

/// Reads requests from a descriptor, one after another.
class RequestReader {
 public:
  /// Creates a reader of FD, which is not owned. PATIENCE is the maximum time to wait for more
  /// data; 0: no limit.
  RequestReader(int fd, std::size_t max_body, std::chrono::seconds patience)
      : fd_(fd), max_body_(max_body), patience_(patience) {}

  /// Returns the next HTTP request, or nullopt at the end of the input.
  OrRefusal<std::optional<WebRequest>> next();
  OrRefusal<WebRequest> cgi();

 private:
  OrRefusal<bool> read_more();
  OrRefusal<std::string> read_body(std::string_view length);

  int fd_;
  std::size_t max_body_;
  std::chrono::seconds patience_;
  std::string received_;  // received, but not parsed
};

/// Returns whether this process was started as a CGI program.
bool is_cgi();
/// Returns a complete reply with STATUS, TYPE and BODY. For a HEAD request, BODY is omitted.
/// HEADERS contains additional header lines, each with its line end.
std::string web_reply(const WebRequest& request, int status, std::string_view type,
                      std::string_view body, std::string_view headers = {});

}  // namespace quarry::app
