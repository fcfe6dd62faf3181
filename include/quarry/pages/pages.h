// The pages process of a pool, which serves web pages made by `fossil`:
//
//   web server ── FastCGI ──> worker ── the connection (base/passed_connections.h) ──> pages
//   gateway ── one end of a socket pair ─────────────────────────────────────────────> pages
//   pages ── SCGI over pipes ──> fossil http, one per request
//
// It is a child of the master with one thread, uses libevent, and does not open repositories. A
// page is forwarded while it is being made. For a slow client, buffered bytes and time are limited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "quarry/base/access_log.h"
#include "quarry/pages/figures.h"
#include "quarry/pages/options.h"
#include "quarry/scoreboard/login_limiter.h"
#include "quarry/scoreboard/refusal_tally.h"

namespace quarry::pages {

struct Handles {
  /// The descriptor on which connections arrive. Not owned.
  int taking = -1;
  Figures& figures;
  std::string_view pool = {};             // for the access log
  base::AccessLog* access_log = nullptr;  // null if there is no access log
  /// Records requests that this process refuses; run() calls its begin(). If it is null, they are
  /// not recorded.
  scoreboard::RefusalTally* refusals = nullptr;
  /// The pool's shared memory for login limits, and the number of failures without a delay
  /// (scoreboard/login_limiter.h). If they are null or 0, logins are not limited.
  scoreboard::LoginMemory* logins = nullptr;
  std::uint64_t login_failures = 0;
};

/// Serves until SIGTERM (aborts in-flight requests) or SIGQUIT (finishes them). SIGUSR1 reopens the
/// logs. Returns the exit code: 0, or 1 after a fatal error, which is logged.
int run(const Options& options, const ServedRepositories& served, const Handles& handles);

}  // namespace quarry::pages
