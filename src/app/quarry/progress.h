// How far a long command is, on a line of the terminal.
#pragma once

#include <cstddef>
#include <string>

namespace quarry::app {

/// Shows nothing where standard error is no terminal, or IS_QUIET. The line goes with its owner.
class Progress {
 public:
  explicit Progress(bool is_quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, std::size_t total);
  /// Something else than counting is under way.
  void say(const std::string& what);

 private:
  bool is_shown_;
  std::size_t percent_ = 101;
};

}  // namespace quarry::app
