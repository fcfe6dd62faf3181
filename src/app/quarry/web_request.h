// One HTTP request to a program that somebody else started for it: on standard input (inetd, ssh),
// or as a CGI program, whose web server puts the head into the environment.
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
  std::string uri;     // for logs: as the client wrote it, or, of a CGI program, the path
  std::string path;    // decoded; what follows the program's own in CGI
  std::string target;  // path and query as the client wrote them
  std::string query;   // without the question mark
  std::string host;
  std::string content_type;
  std::string cookie;
  std::string accept;
  std::string date;  // X-Quarry-Date
  std::string remote_address;
  std::string remote_user;  // whom the web server let in; CGI only
  std::string body;
  bool is_https = false;
  bool has_http_head = true;  // no CGI: the reply begins with a line of HTTP
};

template <typename T>
using OrRefusal = std::expected<T, http::Refusal>;

/// Reads requests from a descriptor, one after the other.
class RequestReader {
 public:
  /// FD is not owned. PATIENCE: how long it may stay silent within a request; 0: for ever.
  RequestReader(int fd, std::size_t max_body, std::chrono::seconds patience)
      : fd_(fd), max_body_(max_body), patience_(patience) {}

  /// The next HTTP request; nothing where the input ends before one begins.
  OrRefusal<std::optional<WebRequest>> next();
  /// The request of this CGI program.
  OrRefusal<WebRequest> cgi();

 private:
  OrRefusal<bool> read_more();
  OrRefusal<std::string> read_body(std::string_view length);

  int fd_;
  std::size_t max_body_;
  std::chrono::seconds patience_;
  std::string received_;  // and not used yet
};

/// Whether this process was started as a CGI program.
bool is_cgi();
/// A whole reply: STATUS, TYPE and BODY (left out of one to HEAD). HEADERS: more of them, each with
/// its line end.
std::string web_reply(const WebRequest& request, int status, std::string_view type,
                      std::string_view body, std::string_view headers = {});

}  // namespace quarry::app
