// A progress line on the terminal.
#pragma once

#include <cstddef>
#include <string>

namespace quarry::app {

/// Writes a progress line to standard error. Writes nothing if standard error is not a terminal or
/// IS_QUIET is set. The destructor erases the line.
class Progress {
 public:
  explicit Progress(bool is_quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// WHOLE is the text for the total; by default, a number of artifacts.
  void show(std::size_t done, std::size_t total, const std::string& whole = {});
  /// Shows a text instead of the progress bar.
  void say(const std::string& what);
  /// Erases the line. Call it before other output.
  void clear();

 private:
  bool is_on_;
  bool is_shown_ = false;
  std::size_t percent_ = 101;
};

}  // namespace quarry::app
