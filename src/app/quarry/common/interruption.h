// Handles SIGINT, SIGTERM and SIGHUP in commands that have to clean up before they exit.
#pragma once

namespace quarry::app {

/// While an object exists, SIGINT, SIGTERM and SIGHUP are recorded and interrupt system calls
/// (EINTR). If the same signal arrives a second time, it kills the process. Ignored signals stay
/// ignored.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Returns the received signal, or 0.
  static int signal();
};

/// Ends the process with SIGNAL's default action, so that the parent process gets the correct
/// status.
int exit_by_signal(int signal);

}  // namespace quarry::app
