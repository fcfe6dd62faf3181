// Splits text at a separator.
#pragma once

#include <algorithm>
#include <string_view>

namespace quarry::base {

/// Removes the text up to and including the first SEPARATOR from TEXT. Returns that text without
/// the separator. If TEXT does not contain SEPARATOR, removes and returns all of TEXT.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace quarry::base
