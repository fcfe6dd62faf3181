#include "output_lines.h"

#include <algorithm>
#include <utility>

namespace quarry::master {

void OutputLines::add(std::string_view bytes, const Line& line) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t size = std::min({newline, bytes.size(), limit_ - rest_.size()});
    rest_ += bytes.substr(0, size);
    bytes.remove_prefix(size);
    const bool is_whole = bytes.starts_with('\n');
    if (is_whole) bytes.remove_prefix(1);
    // At the limit it stays for now: the next byte may be the newline, which must not make a line.
    const bool is_full = rest_.size() == limit_ && !bytes.empty();
    if (is_whole || is_full) line(std::exchange(rest_, {}));
  }
}

std::string OutputLines::take_rest() {
  return std::exchange(rest_, {});
}

}  // namespace quarry::master
