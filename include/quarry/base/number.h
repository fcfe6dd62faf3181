// Whole numbers in text, whatever the locale is.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace quarry::base {

/// Takes the number at the beginning of TEXT, and the spaces before it, off TEXT. Nothing if there
/// is none, or it is out of range.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, int radix = 10) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, radix);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The number that TEXT is: digits alone, after a minus sign if Number has one. Nothing if it is
/// something else, or out of range.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int radix = 10) {
  if (text.starts_with(' ')) return std::nullopt;
  const auto number = take_number<Number>(text, radix);
  return text.empty() ? number : std::nullopt;
}

}  // namespace quarry::base
