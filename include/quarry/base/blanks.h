// Blanks in HTTP's grammar and in the configuration: spaces and tabs.
#pragma once

#include <string_view>

namespace quarry::base {

/// TEXT without leading and trailing blanks.
constexpr std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace quarry::base
