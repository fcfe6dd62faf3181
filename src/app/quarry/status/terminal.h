// A full-screen display on a terminal. The destructor restores the terminal.
#pragma once

#include <termios.h>

#include <chrono>
#include <string>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::app {

/// Standard output. If standard output is not a terminal, plain lines are written. While the object
/// exists, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH are delivered only to wait().
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// Replaces the content of the screen with LINES. Lines that do not fit are omitted. If standard
  /// output is not a terminal, prints all LINES. Returns false if the reader has closed the pipe.
  bool show(const std::vector<std::string>& lines);

  struct Input {
    char key = 0;    // 0: none
    int signal = 0;  // signal that ends the program; 0: none
  };
  /// Waits at most TIME for a key or a signal. If TIME has passed or the terminal was resized, the
  /// result contains neither a key nor a signal.
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
