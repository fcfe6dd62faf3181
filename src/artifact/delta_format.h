// What reading and writing a delta share: its numbers and its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::artifact {

/// Takes a number off the front of REST. Nothing (and REST as it was) when there is no digit or the
/// number does not fit 32 bits: no size or offset in a delta does not.
std::optional<std::uint32_t> take_delta_number(std::string_view& rest);

void append_delta_number(std::string& delta, std::uint32_t number);

/// How many digits NUMBER takes.
constexpr std::size_t delta_number_width(std::uint32_t number) {
  std::size_t width = 1;
  while (number >>= 6) ++width;
  return width;
}

/// The sum of the big-endian 32-bit words of BYTES, the last one padded with zeros.
std::uint32_t delta_checksum(std::string_view bytes);

}  // namespace quarry::artifact
