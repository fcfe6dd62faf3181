// The process of a pool that has its web pages made, by `fossil`:
//
//   web server ── FastCGI ──> worker ── the connection (base/passed_connections.h) ──> pages
//   gateway ─────────────── one of a pair ───────────────────────────────────────────> pages
//   pages ── SCGI over pipes ──> fossil http, each for one request
//
// It runs in a child of the master, in one thread, on libevent, and opens no repository. A page is
// passed on as it is made; who does not take it is waited for with a bound on bytes and time.
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
  /// Where connections come from; stays the caller's.
  int taking = -1;
  Figures& figures;
  std::string_view pool = {};             // for the access log
  base::AccessLog* access_log = nullptr;  // null: none
  /// What it answers by itself is noted there, which run() begins; null: nowhere.
  scoreboard::RefusalTally* refusals = nullptr;
  /// The pool's memory of logins and the failures that cause no wait (scoreboard/login_limiter.h);
  /// null, or 0: logins are not limited.
  scoreboard::LoginMemory* logins = nullptr;
  std::uint64_t login_failures = 0;
};

/// Serves until SIGTERM (drops what is under way) or SIGQUIT (finishes it). SIGUSR1 has the log
/// opened anew. Returns the process's exit code: 0, or 1 when it could not start (logged).
int run(const Options& options, const ServedRepositories& served, const Handles& handles);

}  // namespace quarry::pages
