// Ctrl-C and its like, for a command that has something to tidy up first.
#pragma once

namespace quarry::app {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is noted and interrupts what waits (system
/// calls return EINTR); a second one ends the process at once. Those that are ignored stay so.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that came; 0 for none.
  static int signal();
};

/// Ends the process by SIGNAL, as a program ends that does not care.
int end_by(int signal);

}  // namespace quarry::app
