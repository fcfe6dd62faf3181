// A worker's signals: SIGQUIT (exit after the in-flight request), SIGTERM (exit now) and SIGUSR1
// (reopen the logs between requests). The state is global, because signal handlers can access only
// global variables.
#pragma once

#include <csignal>

#include "quarry/base/result.h"

namespace quarry::worker {

/// Installs the handlers. Errors: kIo.
Result<void> watch_stop_signals();
/// Returns a descriptor that becomes, and stays, readable after SIGQUIT or SIGTERM.
int stop_descriptor();
/// Returns whether SIGQUIT or SIGTERM has arrived.
bool stop_requested();
/// Returns whether SIGTERM has arrived. After SIGTERM, do not wait for the client.
bool stop_now_requested();

/// Returns a descriptor that is readable after SIGUSR1 until take_reopen_request() is called.
int reopen_descriptor();
/// Returns whether SIGUSR1 has arrived since the last call.
bool take_reopen_request();

/// Blocks SIGQUIT and SIGUSR1 during its lifetime. A signal would interrupt a read with a timeout
/// (signal(7)), but the in-flight request must be able to finish during a graceful stop.
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
