// How a worker learns that it should end (SIGQUIT after the request in flight, SIGTERM at once),
// and that its logs were moved away (SIGUSR1, between requests). Global state,
// because signal handlers can reach no other.
#pragma once

#include <csignal>

#include "quarry/base/result.h"

namespace quarry::worker {

/// Installs the handlers. Errors: kIo.
base::Result<void> watch_stop_signals();
/// Becomes readable, and stays so, with the first of the signals: for whoever waits.
int stop_descriptor();
/// Either signal came.
bool stop_requested();
/// SIGTERM came: do not wait for the client any longer.
bool stop_now_requested();

/// Becomes readable with SIGUSR1, until take_reopen_request().
int reopen_descriptor();
/// Whether SIGUSR1 came since the last call.
bool take_reopen_request();

/// While it lives, SIGQUIT and SIGUSR1 wait: they would break off a read that has a time-out
/// (signal(7)), and a graceful stop lets the request in flight come whole.
class GracefulStopHeld {
 public:
  GracefulStopHeld();
  ~GracefulStopHeld();
  GracefulStopHeld(const GracefulStopHeld&) = delete;
  GracefulStopHeld& operator=(const GracefulStopHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace quarry::worker
