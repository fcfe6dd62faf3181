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
    // A full line is kept until the next byte, which may be its newline; otherwise an empty line
    // would follow.
    const bool is_full = rest_.size() == limit_ && !bytes.empty();
    if (is_whole || is_full) line(std::exchange(rest_, {}));
  }
}

std::string OutputLines::take_rest() {
  return std::exchange(rest_, {});
}

}  // namespace quarry::master
