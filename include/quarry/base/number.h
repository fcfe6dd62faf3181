// Parses whole numbers, independent of the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace quarry::base {

/// Removes leading spaces and a number from the front of TEXT and returns the number. Returns
/// nullopt if TEXT does not start with a number, or if the number is out of range.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, int radix = 10) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, radix);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// Parses TEXT, which must consist of digits. A minus sign is allowed if Number is signed. Returns
/// nullopt if TEXT is malformed or out of range.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int radix = 10) {
  if (text.starts_with(' ')) return std::nullopt;
  const auto number = take_number<Number>(text, radix);
  return text.empty() ? number : std::nullopt;
}

}  // namespace quarry::base
