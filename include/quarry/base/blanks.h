// Trims blanks. HTTP's grammar and the configuration define blanks as spaces and tabs.
#pragma once

#include <string_view>

namespace quarry::base {

/// Returns TEXT without leading and trailing BLANKS.
constexpr std::string_view trim_blanks(std::string_view text, std::string_view blanks = " \t") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace quarry::base
