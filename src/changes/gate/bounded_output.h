// Keeps the beginning and the end of a program's output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::changes {

class BoundedOutput {
 public:
  /// Keeps up to LIMIT bytes, and uses at most 2 * LIMIT bytes of memory.
  explicit BoundedOutput(std::size_t limit) : half_(limit / 2) {}

  void add(std::string_view bytes);
  /// Returns the output as lines for logs and terminals. Escapes control characters and invalid
  /// UTF-8. If bytes were omitted, inserts a note with their number.
  std::string text() const;

 private:
  std::size_t half_;
  std::string beginning_;
  std::string end_;
  std::uint64_t left_out_ = 0;
};

}  // namespace quarry::changes
