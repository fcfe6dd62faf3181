// How far a long command is, on a line of the terminal that is written over and over.
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
  /// Something else is printed next.
  void clear();

 private:
  bool is_on_;
  bool is_shown_ = false;  // a line stands there
  std::size_t percent_ = 101;
};

}  // namespace quarry::app
