// Numbers and checksums of deltas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::artifact {

/// Removes a number from the front of REST and returns it. Returns nullopt and leaves REST
/// unchanged if REST does not begin with a digit, or if the number exceeds 32 bits, the limit for
/// sizes and offsets in a delta.
std::optional<std::uint32_t> take_delta_number(std::string_view& rest);

void append_delta_number(std::string& delta, std::uint32_t number);

constexpr std::size_t delta_number_width(std::uint32_t number) {
  std::size_t width = 1;
  while (number >>= 6) ++width;
  return width;
}

/// Returns the sum of the big-endian 32-bit words in BYTES. The last word is padded with zeros.
std::uint32_t delta_checksum(std::string_view bytes);

}  // namespace quarry::artifact
