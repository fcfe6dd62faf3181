// Handles SIGINT and the like for a command that has to clean up before it exits.
#pragma once

namespace quarry::app {

/// While an object exists, the first SIGINT, SIGTERM or SIGHUP is recorded and interrupts system
/// calls (EINTR); the second one kills the process. Ignored signals stay ignored.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that was received; 0 if none.
  static int signal();
};

/// Ends the process with SIGNAL's default action, so that the parent sees why it ended.
int exit_by_signal(int signal);

}  // namespace quarry::app
