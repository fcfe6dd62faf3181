// Letters of ASCII, whatever the locale is.
#pragma once

namespace quarry::base {

/// C, or the small letter of a large one.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace quarry::base
