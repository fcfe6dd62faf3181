// A worker's signals: SIGQUIT (exit after the in-flight request), SIGTERM (exit now) and SIGUSR1
// (reopen the logs between requests). The state is global because signal handlers can reach nothing
// else.
#pragma once

#include <csignal>

#include "quarry/base/result.h"

namespace quarry::worker {

/// Installs the handlers. Errors: kIo.
base::Result<void> watch_stop_signals();
/// A descriptor that becomes, and stays, readable after SIGQUIT or SIGTERM.
int stop_descriptor();
/// Whether either signal has arrived.
bool stop_requested();
/// Whether SIGTERM has arrived: do not wait for the client any longer.
bool stop_now_requested();

/// A descriptor that is readable after SIGUSR1 until take_reopen_request().
int reopen_descriptor();
/// Whether SIGUSR1 has arrived since the last call.
bool take_reopen_request();

/// Blocks SIGQUIT and SIGUSR1 during its lifetime. They would interrupt a read with a timeout
/// (signal(7)), but a graceful stop lets the in-flight request finish.
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
