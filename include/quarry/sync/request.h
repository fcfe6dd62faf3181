// One request of a client, the reply, and the bounds of a session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace quarry::sync {

/// Limits and choices of a pool (configuration words `sync.*`).
struct SessionOptions {
  /// The largest body after decompression, in bytes.
  std::size_t max_body = std::size_t{512} << 20;
  /// The same for a request without a login that is right; a larger one is not expanded.
  std::size_t max_body_without_login = std::size_t{32} << 20;
  /// The largest number of cards in one request.
  std::size_t max_cards = 1000000;
  /// A `push` or `pull` whose server code is this server's own is an error (old rule).
  bool refuse_own_server_code = false;
  /// A second login card is an error (newest rule) instead of adding its rights.
  bool single_login = false;
  /// The largest number of artifacts that one request may bring, and of seconds that any may take.
  std::size_t max_artifacts = 100000;
  std::chrono::milliseconds max_time{300'000};
  /// Where the time of a request is read from.
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
  /// Whoever asks may do everything, without a login: they could as well open the file.
  bool all_rights = false;
  /// Phantoms asked for in one reply.
  std::size_t max_gimme = 500;
};

/// What a session is doing at the moment. Views are valid during the call.
struct SessionProgress {
  std::string_view user;
  std::string_view operation;  // as in SessionFigures
  std::string_view what;       // "reading cards: 120 file, 3 igot"
};

/// Who remembers logins beyond one session, so that nobody tries passwords as fast as he likes.
class LoginGuard {
 public:
  virtual ~LoginGuard() = default;
  /// How long the client has to wait before another login of USER is looked at; 0: not at all.
  virtual std::chrono::seconds wait(std::string_view user) = 0;
  /// The login that wait() was asked about last was looked at.
  virtual void record(bool succeeded) = 0;
};

struct Request {
  /// As the client sent it. "application/x-fossil" or "application/x-fossil-debug", parameters
  /// after
  /// ';' are ignored.
  std::string_view content_type = {};
  std::string_view body = {};
  /// Of the client, for rcvfrom and the log.
  std::string_view remote_address = {};
  /// Who the web server says it authenticated; empty unless the pool trusts that.
  std::string_view remote_user = {};
  /// The value of the Cookie header, for x-f-l-c.
  std::string_view cookie = {};
  /// Not owned; null: every login is looked at.
  LoginGuard* logins = nullptr;
  /// The URL of the repository, as the client sees it, without a slash at its end. May be empty.
  std::string_view own_url = {};
  /// Is told now and then, for the scoreboard. May be empty.
  std::function<void(const SessionProgress&)> on_progress = {};
  /// Whether nobody waits for the reply any more: then the request ends, and changes nothing. Is
  /// asked now and then; may be empty.
  std::function<bool()> has_left = {};
};

/// What the scoreboard and the access log are told of a session.
struct SessionFigures {
  std::string user;          // who logged in, "nobody" otherwise
  std::string failed_login;  // as whom somebody could not; any bytes, for the log alone
  std::string operation;     // "clone", "pull", "push", "sync" or ""
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  std::uint64_t cards = 0;
  std::string error;      // text of the error card, empty if none
  bool is_fault = false;  // the error is this server's, or its file's
};

struct Reply {
  int status = 200;  // 200, or 4xx where the request is no sync conversation
  std::string content_type;
  std::string body;
  SessionFigures figures;
};

/// Whether CONTENT_TYPE marks a sync request.
bool is_sync_content_type(std::string_view content_type);

}  // namespace quarry::sync
