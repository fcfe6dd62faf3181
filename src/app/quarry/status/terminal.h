// A terminal for a full-screen display, which is restored at the end.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::app {

/// Standard output: a terminal, or anything else, to which plain lines are written. While the
/// object exists, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH are only delivered to wait().
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// Replaces the lines on the screen, as many as fit, or prints LINES if it is not a terminal.
  /// Returns false if the reader has closed the pipe.
  bool show(const std::vector<std::string>& lines);

  struct Input {
    char key = 0;    // 0: none
    int signal = 0;  // the signal to end with; 0: none
  };
  /// The next key or signal within TIME, or nothing; also returns nothing when the terminal is
  /// resized.
  Input wait(std::chrono::milliseconds time);

 private:
  void enter();
  void leave();
  int take_signal();

  termios before_{};  // settings to restore
  bool is_terminal_;
  bool has_keys_;
  base::Fd signals_;
};

}  // namespace quarry::app
