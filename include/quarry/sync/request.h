// A client's request, the reply, and the limits of a session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/repository/receipt.h"
#include "quarry/sync/host_group.h"

namespace quarry::sync {

/// Limits and options of a pool (configuration directives `sync.*`).
struct SessionOptions {
  /// Limit on the body after decompression, in bytes.
  std::size_t max_body = std::size_t{512} << 20;
  /// Limit on the body of a request without a valid login. A larger body is not decompressed.
  std::size_t max_body_without_login = std::size_t{32} << 20;
  /// Maximum number of cards in one request.
  std::size_t max_cards = 1000000;
  /// Whether a `push` or `pull` with this server's own server code is an error, as in old versions
  /// of fossil.
  bool refuse_own_server_code = false;
  /// Whether a second login card is an error, as in the newest fossil. If false, the rights of the
  /// second login are added to those of the first.
  bool single_login = false;
  /// Maximum number of artifacts in one request.
  std::size_t max_artifacts = 100000;
  /// Time limit for any request.
  std::chrono::milliseconds max_time{300'000};
  /// The clock for the time limit.
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
  /// Whether clients have all rights without a login, because they could open the file themselves.
  bool all_rights = false;
  /// Maximum number of phantoms requested in one reply.
  std::size_t max_gimme = 500;
};

/// Progress of a session. The views are valid only during the call.
struct SessionProgress {
  std::string_view user;
  std::string_view operation;  // as in SessionFigures
  std::string_view what;       // "reading cards: 120 file, 3 igot"
};

/// Limits the rate of password guesses across sessions.
class LoginGuard {
 public:
  virtual ~LoginGuard() = default;
  /// Returns how long the client must wait before USER's login is checked; 0 if it can be checked
  /// now.
  virtual std::chrono::seconds wait(std::string_view user) = 0;
  /// Records whether the login of the user who was last passed to wait() has succeeded.
  virtual void record(bool succeeded) = 0;
};

/// Check-in locks that the hosts of a group share.
class SharedLocks {
 public:
  virtual ~SharedLocks() = default;
  /// Locks CHECK_IN for CLIENT. Returns the lock of another client instead if it is younger than
  /// TIMEOUT. Might be called several times for a request. Logins must not contain spaces.
  virtual std::optional<repository::CheckInLock> lock(std::string_view check_in,
                                                      std::string_view login,
                                                      std::string_view client,
                                                      std::chrono::seconds timeout) = 0;
  /// Removes the lock of CHECK_IN if CLIENT holds it. Does not wait.
  virtual void unlock(std::string_view check_in, std::string_view client) = 0;
};

struct Request {
  /// The value of the Content-Type header: "application/x-fossil" or "application/x-fossil-debug".
  /// Parameters after ';' are ignored.
  std::string_view content_type = {};
  std::string_view body = {};
  /// Address of the client, for rcvfrom and the log.
  std::string_view remote_address = {};
  /// The user that the web server authenticated. Empty if the pool does not trust the web server.
  std::string_view remote_user = {};
  /// The value of the Cookie header, which can contain a login (x-f-l-c).
  std::string_view cookie = {};
  /// Not owned. If null, logins are not limited.
  LoginGuard* logins = nullptr;
  /// Not owned. Null if the repository is not replicated.
  SharedLocks* locks = nullptr;
  HostGroup* hosts = nullptr;
  /// The URL under which the client reaches the repository, without a trailing slash. May be empty.
  std::string_view own_url = {};
  /// Called regularly with the progress, for the scoreboard. Optional.
  std::function<void(const SessionProgress&)> on_progress = {};
  /// Called regularly. Returns whether the client has disconnected. In that case, the request is
  /// aborted without any change. Optional.
  std::function<bool()> has_left = {};
};

/// Statistics of a session for the scoreboard and the access log.
struct SessionFigures {
  std::string user;          // the user who is logged in, or "nobody"
  std::string failed_login;  // user name of a failed login, as sent; only for the log
  std::string operation;     // "clone", "pull", "push", "sync" or ""
  std::uint64_t artifacts_in = 0;
  bool has_news = false;  // the request stored data that might cause events
  std::uint64_t artifacts_out = 0;
  std::uint64_t cards = 0;
  std::string error;      // text of the error card; empty if there is none
  bool is_fault = false;  // the error is the fault of the server or its repository
};

struct Reply {
  int status = 200;  // HTTP status: 200, or 4xx if the request is not a sync
  std::string content_type;
  std::string body;
  SessionFigures figures;
  /// Whether the push failed only because other hosts cannot be reached, so it can be repeated later.
  bool may_retry = false;
};

bool is_sync_content_type(std::string_view content_type);

}  // namespace quarry::sync
