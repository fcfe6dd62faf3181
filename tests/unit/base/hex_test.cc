#include "quarry/base/hex.h"

#include <doctest/doctest.h>

#include <array>

using namespace quarry::base;
using namespace std::string_literals;

TEST_CASE("every byte is two digits, and is decoded in either case") {
  std::array<unsigned char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  const std::string digits = to_hex(bytes);
  CHECK(digits.starts_with("000102030405060708090a0b0c0d0e0f10"));
  CHECK(digits.ends_with("fdfeff"));
  CHECK(is_hex(digits));
  CHECK(from_hex(digits) == std::string(bytes.begin(), bytes.end()));
  CHECK(from_hex("aBCdeF") == "\xab\xcd\xef"s);
  CHECK(from_hex("") == "");
}

TEST_CASE("text that is not pairs of digits is not decoded") {
  for (const char* text : {"0", "0g", "g0", "00 ", " 00", "0x00", "\xc3\xa4"}) {
    CAPTURE(text);
    CHECK_FALSE(from_hex(text));
  }
  for (const char c : {'/', ':', '@', 'G', '`', 'g', '\0', '\xff'}) CHECK(hex_value(c) == -1);
  CHECK_FALSE(is_hex("12g4"));
  CHECK(is_hex(""));
}
