// A request as the worker's endpoints see it, and their reply: HTTP in terms of CGI variables
// (RFC 3875), without FastCGI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::worker {

/// Views stay valid while the request is answered.
struct Request {
  std::string_view method{};
  std::string_view script_name{};
  std::string_view path_info{};
  std::string_view uri{};    // as the client wrote it, for logs
  std::string_view query{};  // without the question mark
  std::string_view content_type{};
  std::string_view content_length{};
  std::string_view remote_address{};
  std::string_view remote_user{};
  std::string_view cookie{};
  std::string_view host{};
  bool is_https = false;
  const char* const* variables = nullptr;  // all of them, "NAME=value" each, then a null pointer
  /// Whether the web server does not wait for the reply any more, since its client has gone, say.
  /// After the body was read; asks the kernel. May be empty.
  std::function<bool()> has_left{};

  /// The path below the pool's place in the web server: PATH_INFO, or SCRIPT_NAME where the web
  /// server does not split the two.
  std::string_view path() const { return path_info.empty() ? script_name : path_info; }
  /// The variable NAME, whatever it is; "" where there is none.
  std::string_view variable(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow;    // of a 405
  std::string headers;  // more of them, each with its line end

  // For the scoreboard and the logs.
  std::string user;
  std::string operation;
  std::string repository;    // its file
  std::string failed_login;  // as whom somebody could not log in
  std::string error;         // what went wrong, although the status may be 200
  bool is_fault = false;     // the server's, whatever the status
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  /// Of a sync session: the size of its body, which with that of the reply counts as synced.
  std::optional<std::uint64_t> synced_in;
};

/// The lines that stand before the body, with the empty one.
std::string header_of(const Reply& reply);
/// A reply of one line.
Reply text_reply(int status, std::string_view text);
/// REPLY, but where it is a line of text about an error, and REQUEST comes from a browser and is no
/// sync: as a page.
Reply for_browser(const Request& request, Reply reply);

/// Takes the next bytes of a body; its error ends the reading.
using BodySink = std::function<base::Result<void>(std::string_view bytes)>;

/// The body of a request, to be read at most once, and only where it is wanted.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// All SIZE bytes of it. Errors: kInvalid (fewer came, or more), kIo.
  virtual base::Result<std::string> read(std::size_t size) = 0;
  /// The same in pieces, for what need not be in memory as a whole. Errors: also those of SINK.
  virtual base::Result<void> read_into(const BodySink& sink, std::size_t size) = 0;
};

/// What answers requests. The loop around it knows nothing of repositories.
class Handler {
 public:
  virtual ~Handler() = default;
  /// SLOT is told of the stage "executing".
  virtual Reply answer(const Request& request, BodyReader& body, scoreboard::Slot& slot) = 0;
  /// Whether there are requests that others answer; pass_on() is not called otherwise.
  virtual bool may_pass_on() const { return false; }
  /// REQUEST, of which only the parameters of quarry/http/parameters.h are known, came on CONNECTION,
  /// from which nothing was taken. True: it was passed on to whom it concerns.
  virtual bool pass_on(const Request& /*request*/, int /*connection*/) { return false; }
  /// Work that the request has left, for when its reply is sent.
  virtual void work_after_reply() {}
  /// Work that was left for a moment without requests, and is done then. What it leaves is tried
  /// again in another such moment.
  virtual bool has_idle_work() const { return false; }
  virtual void work_idly() {}
};

}  // namespace quarry::worker
