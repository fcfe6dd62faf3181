// Handles SIGINT, SIGTERM and SIGHUP for a command that has to clean up before it exits.
#pragma once

namespace quarry::app {

/// While an object of this class exists, the first SIGINT, SIGTERM or SIGHUP is recorded and
/// interrupts system calls (EINTR); the second one kills the process. Ignored signals stay ignored.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Returns the signal that was received, or 0 if there was none.
  static int signal();
};

/// Ends the process with SIGNAL's default action, so that the parent process sees why it ended.
int exit_by_signal(int signal);

}  // namespace quarry::app
