// Hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quarry::base {

/// By character. (Within the function it would be made anew at every call.)
inline constexpr auto kHexValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::int8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
    values[static_cast<unsigned char>("0123456789ABCDEF"[i])] = i;
  }
  return values;
}();

/// What the digit C, of either case, stands for; -1 for any other character.
constexpr int hex_value(char c) {
  return kHexValues[static_cast<unsigned char>(c)];
}

/// Whether there is nothing but digits in TEXT, of either case.
bool is_hex(std::string_view text);
/// BYTES, two digits in lower case each.
std::string to_hex(std::span<const unsigned char> bytes);
/// The bytes that DIGITS stand for; nothing where they are not two digits each.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace quarry::base
