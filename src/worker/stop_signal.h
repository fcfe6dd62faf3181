// How a worker learns that it should end: SIGQUIT after the request in flight, SIGTERM at once. One
// of the two globals that the style page allows.
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

/// While it lives, SIGQUIT waits: it would break off a read that has a time-out (signal(7)), and a
/// graceful stop lets the request in flight come whole.
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
