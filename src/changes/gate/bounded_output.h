// What a program writes, of which the beginning and the end are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::changes {

class BoundedOutput {
 public:
  /// Keeps up to MOST bytes, and twice that in memory.
  explicit BoundedOutput(std::size_t most) : half_(most / 2) {}

  void add(std::string_view bytes);
  /// As text for logs and terminals: lines; control characters and what is no UTF-8 escaped. What is
  /// left out is said.
  std::string text() const;

 private:
  std::size_t half_;
  std::string beginning_;
  std::string end_;
  std::uint64_t left_out_ = 0;
};

}  // namespace quarry::changes
