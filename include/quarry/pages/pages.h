// The pages process of a pool, which serves web pages made by `fossil`:
//
//   web server ── FastCGI ──> worker ── the connection (base/passed_connections.h) ──> pages
//   gateway ── one end of a socket pair ─────────────────────────────────────────────> pages
//   pages ── SCGI over pipes ──> fossil http, one per request
//
// The pages process is a child of the master with one thread. The process uses libevent. It opens a
// repository only briefly, to find the users with the e-mail address that a client enters to log
// in. A page is forwarded while it is made. Buffered bytes and time are limited for slow clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/access_log.h"
#include "quarry/base/result.h"
#include "quarry/pages/figures.h"
#include "quarry/pages/options.h"
#include "quarry/scoreboard/login_limiter.h"
#include "quarry/scoreboard/refusal_tally.h"

namespace quarry::pages {

/// The socket of quarry-replica (control/publication.h).
struct ReplicaSocket {
  std::string path;  // "": changes are not published
  std::chrono::milliseconds time_out{10'000};
};

struct Handles {
  /// The socket on which connections arrive. Not owned.
  int taking = -1;
  const Figures& figures;
  std::string_view pool = {};             // for the access log
  base::AccessLog* access_log = nullptr;  // null if access is not logged
  /// Called after SIGUSR1, to replace the logs by the reopened ones. Can be empty.
  std::function<void()> reopen_logs = {};
  /// Counts requests that this process refuses. run() calls RefusalTally::begin(). If `refusals` is
  /// null, refusals are not counted.
  scoreboard::RefusalTally* refusals = nullptr;
  /// The pool's shared memory for login limits, and the number of failures without a delay
  /// (scoreboard/login_limiter.h). Logins are not limited if the memory is null or the number is 0.
  scoreboard::LoginMemory* logins = nullptr;
  std::uint64_t login_failures = 0;
  /// Called after fossil has answered a request for the repository NUMBER
  /// (repository/repository_name.h). MAY_HAVE_WRITTEN: the request might have changed the
  /// repository. Can be empty.
  std::function<void(std::uint32_t number, bool may_have_written)> after_request = {};
  /// The client gets the reply to a POST after this process has published the change.
  ReplicaSocket replica = {};
};

/// Serves until SIGTERM (aborts in-flight requests) or SIGQUIT (finishes them). SIGUSR1 reopens the
/// logs. Returns the exit code: 0, or 1 after a fatal error. The error is logged.
int run(const Options& options, const ServedRepositories& served, const Handles& handles);

/// Returns the version that `PROGRAM version` prints, such as "2.21". Waits at most a few seconds.
/// Errors: kNotFound, kIo, kInvalid (PROGRAM is not fossil).
Result<std::string> version_of(const std::string& program);

}  // namespace quarry::pages
