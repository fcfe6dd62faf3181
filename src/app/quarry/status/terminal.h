// A full-screen display on a terminal, which is restored when the display ends.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::app {

/// Standard output. If it is not a terminal, plain lines are written to it. While the object
/// exists, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH are only delivered to wait().
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// Replaces the content of the screen with as many of LINES as fit. Prints all of them if
  /// standard output is not a terminal. Returns false if the reader has closed the pipe.
  bool show(const std::vector<std::string>& lines);

  struct Input {
    char key = 0;    // 0: none
    int signal = 0;  // the signal to end with; 0: none
  };
  /// Waits for a key or a signal for at most TIME and returns it. Returns neither after TIME, or
  /// when the terminal is resized.
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
