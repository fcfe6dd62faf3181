#include "delta_format.h"

#include <array>
#include <bit>
#include <cstring>

namespace quarry::artifact {
namespace {

constexpr std::string_view kDigits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";
static_assert(kDigits.size() == 64);

constexpr std::uint8_t kNoDigit = 255;

constexpr std::array<std::uint8_t, 256> make_digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kDigitValues = make_digit_values();

/// Returns the first eight bytes of BYTES as a big-endian number.
std::uint64_t load_big_endian_64(std::string_view bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data(), sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

std::optional<std::uint32_t> take_delta_number(std::string_view& rest) {
  std::uint64_t number = 0;
  std::size_t used = 0;
  for (; used < rest.size(); ++used) {
    const std::uint8_t digit = kDigitValues[static_cast<unsigned char>(rest[used])];
    if (digit == kNoDigit) break;
    number = number << 6 | digit;
    if (number >> 32 != 0) return std::nullopt;
  }
  if (used == 0) return std::nullopt;
  rest.remove_prefix(used);
  return static_cast<std::uint32_t>(number);
}

void append_delta_number(std::string& delta, std::uint32_t number) {
  std::array<char, 6> digits;
  std::size_t first = digits.size();
  do {
    digits[--first] = kDigits[number & 63];
    number >>= 6;
  } while (number != 0);
  delta.append(digits.data() + first, digits.size() - first);
}

std::uint32_t delta_checksum(std::string_view bytes) {
  // Add two words at a time to a 64-bit sum. The checksum is the low 32 bits of this sum.
  std::uint64_t sum = 0;
  while (bytes.size() >= 8) {
    const std::uint64_t words = load_big_endian_64(bytes);
    sum += (words >> 32) + (words & 0xffffffff);
    bytes.remove_prefix(8);
  }
  std::array<char, 8> tail{};
  std::memcpy(tail.data(), bytes.data(), bytes.size());
  const std::uint64_t words = load_big_endian_64({tail.data(), tail.size()});
  return static_cast<std::uint32_t>(sum + (words >> 32) + (words & 0xffffffff));
}

}  // namespace quarry::artifact
