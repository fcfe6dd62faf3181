// Hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quarry::base {

/// The value of each character as a digit, or -1. The table is at namespace scope because a table
/// inside the function would be rebuilt at every call.
inline constexpr auto kHexValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::int8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
    values[static_cast<unsigned char>("0123456789ABCDEF"[i])] = i;
  }
  return values;
}();

/// Returns the value of the hexadecimal digit C, or -1 for any other character.
constexpr int hex_value(char c) {
  return kHexValues[static_cast<unsigned char>(c)];
}

/// Returns whether TEXT consists only of hexadecimal digits, in upper or lower case.
bool is_hex(std::string_view text);
/// Returns BYTES as two lower-case digits each.
std::string to_hex(std::span<const unsigned char> bytes);
/// Decodes DIGITS, two per byte. Returns nullopt if the digits are malformed.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace quarry::base
