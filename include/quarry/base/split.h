// Splits text at a separator.
#pragma once

#include <algorithm>
#include <string_view>

namespace quarry::base {

/// Takes the part before the first SEPARATOR (or all of TEXT) and the separator off the front of
/// TEXT, and returns the part.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace quarry::base
