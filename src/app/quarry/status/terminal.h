// A terminal that is drawn on line by line, and given back as it was.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::app {

/// Standard output: a terminal, or anything else, to which everything is written as plain lines.
/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH come to wait() alone.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// Shows LINES in place of what was shown before, as many as there is room for, or prints them.
  /// False: nobody reads any more.
  bool show(const std::vector<std::string>& lines);

  struct Input {
    char key = 0;    // 0: none
    int signal = 0;  // that asks to end; 0: none
  };
  /// What comes within TIME; nothing (at once, where the terminal has another size now) if nothing
  /// did.
  Input wait(std::chrono::milliseconds time);

 private:
  void enter();
  void leave();
  int take_signal();

  termios before_{};  // before what fills it in
  bool is_terminal_;
  bool has_keys_;
  base::Fd signals_;
};

}  // namespace quarry::app
