// Splits the output of a child into lines of limited length for the log. Only newlines are dropped.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace quarry::master {

class OutputLines {
 public:
  using Line = std::function<void(std::string_view)>;

  /// Lines longer than LIMIT bytes are split.
  explicit OutputLines(std::size_t limit) : limit_(limit) {}

  /// Adds output and calls LINE for each complete line.
  void add(std::string_view bytes, const Line& line);
  /// Removes and returns the output since the last newline.
  std::string take_rest();
  /// The output since the last newline.
  const std::string& rest() const { return rest_; }

 private:
  std::size_t limit_;
  std::string rest_;
};

}  // namespace quarry::master
