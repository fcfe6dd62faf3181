// The bytes that a child prints, made into lines for the log: never longer than a bound, and
// nothing lost but the newlines.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace quarry::master {

class OutputLines {
 public:
  using Line = std::function<void(std::string_view)>;

  /// Lines of more than LIMIT bytes are cut into several.
  explicit OutputLines(std::size_t limit) : limit_(limit) {}

  /// Takes what was printed, and gives every line that is whole by now to LINE.
  void add(std::string_view bytes, const Line& line);
  /// What was printed after the last newline; "" if nothing was. It is not kept.
  std::string take_rest();
  /// The same, and it is.
  const std::string& rest() const { return rest_; }

 private:
  std::size_t limit_;
  std::string rest_;
};

}  // namespace quarry::master
