// ASCII letters, independent of the locale.
#pragma once

namespace quarry::base {

/// C in lower case.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace quarry::base
