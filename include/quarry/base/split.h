// Text that a character separates into parts.
#pragma once

#include <algorithm>
#include <string_view>

namespace quarry::base {

/// Takes the part before the first SEPARATOR, or all of TEXT, off TEXT, and the separator with it.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace quarry::base
