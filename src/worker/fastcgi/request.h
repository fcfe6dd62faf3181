// Requests and replies of the worker's endpoints: HTTP as CGI variables (RFC 3875), independent of
// FastCGI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/http/web_page.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::worker {

/// A request. Views are valid while the request is answered.
struct Request {
  std::string_view method{};
  std::string_view script_name{};
  std::string_view path_info{};
  std::string_view uri{};    // as the client sent it; can be empty
  std::string_view query{};  // without the question mark
  std::string_view content_type{};
  std::string_view content_length{};
  std::string_view remote_address{};
  std::string_view remote_user{};
  std::string_view cookie{};
  std::string_view host{};
  bool is_https = false;
  const char* const* variables = nullptr;  // "NAME=value" strings, then a null pointer
  /// Returns whether the web server has disconnected, for example because its client has
  /// disconnected. Call it only after the body was read, and not often, because each call costs a
  /// system call. Optional.
  std::function<bool()> has_left{};

  /// Returns the path below the pool's URL in the web server: PATH_INFO, or SCRIPT_NAME if the web
  /// server does not split the path.
  std::string_view path() const { return path_info.empty() ? script_name : path_info; }
  /// Returns the URI or path for logs, as the client sent it.
  std::string_view uri_or_path() const { return uri.empty() ? path() : uri; }
  /// Returns the CGI variable NAME, or "" if it is not set.
  std::string_view variable(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow;    // for status 405
  std::string headers;  // additional headers, each with its line end

  // For the scoreboard and the logs.
  std::string user;
  std::string operation;
  std::string repository;    // path of the repository's file
  std::string failed_login;  // user name of a failed login
  std::string error;         // can be set even if the status is 200
  bool is_fault = false;     // whether the server is at fault, regardless of the status
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  /// Size of the body of a sync request, for the count of synced bytes.
  std::optional<std::uint64_t> synced_in;
};

/// Returns the header block, including the empty line.
std::string header_of(const Reply& reply);
Reply text_reply(int status, std::string_view text);
/// Returns an HTML page if REPLY is a line of text about an error, and REQUEST is a browser's
/// request and not a sync. Otherwise returns REPLY. PLACE is used for the links of the page.
Reply for_browser(const Request& request, Reply reply, const http::ErrorPlace& place = {});
/// Compresses REPLY with gzip if it is an HTML page and the client of REQUEST accepts gzip. Text of
/// a request is never on the same page as the token of a form, so the size of a compressed page
/// does not reveal the token.
void compress_page(const Request& request, Reply& reply);

/// A function that receives a body piece by piece. If the function returns an error, the rest of
/// the body is not read.
using BodySink = std::function<Result<void>(std::string_view bytes)>;

/// The body of a request, which can be read only once.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// Returns the whole body of SIZE bytes. Errors: kInvalid (the body was shorter or longer), kIo.
  virtual Result<std::string> read(std::size_t size) = 0;
  /// Passes the body to SINK in pieces, for bodies that do not have to be in memory as a whole.
  /// Errors: kInvalid, kIo, and the errors from SINK.
  virtual Result<void> read_into(const BodySink& sink, std::size_t size) = 0;
};

/// Answers requests. This interface separates the request loop from repositories.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Answers REQUEST. Sets SLOT to the stage "executing".
  virtual Reply answer(const Request& request, BodyReader& body, scoreboard::Slot& slot) = 0;
  /// Returns the place of REQUEST for its error page.
  virtual http::ErrorPlace place_of(const Request& /*request*/) const { return {}; }
  /// Returns whether other processes answer some requests. If not, pass_on() is not called.
  virtual bool may_pass_on() const { return false; }
  /// Passes REQUEST to another process if that process should answer it. Returns whether REQUEST
  /// was passed on. REQUEST has only the parameters in quarry/http/parameters.h. CONNECTION is
  /// unread.
  virtual bool pass_on(const Request& /*request*/, int /*connection*/) { return false; }
  /// Does deferred work of the request, after the reply is sent.
  virtual void work_after_reply() {}
  /// Returns whether the handler has work for idle times. The work can take several calls.
  virtual bool has_idle_work() const { return false; }
  virtual void work_idly() {}
};

}  // namespace quarry::worker
