#include "quarry/base/number.h"

#include <doctest/doctest.h>

#include <cstdint>

using quarry::base::parse_number;
using quarry::base::take_number;

TEST_CASE("a number is the whole text, and within its type") {
  CHECK(parse_number<int>("0") == 0);
  CHECK(parse_number<int>("-12") == -12);
  CHECK(parse_number<std::uint16_t>("65535") == 65535);
  CHECK(parse_number<unsigned>("ff", 16) == 255);
  for (const char* text : {"", " 1", "1 ", "+1", "1a", "a", "-", "1.5", "0x1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<int>(text));
  }
  CHECK_FALSE(parse_number<std::uint16_t>("65536"));
  CHECK_FALSE(parse_number<unsigned>("-1"));
}

TEST_CASE("numbers are read from the front of a text, one after the other") {
  std::string_view text = "12 -3x 99999999999";
  CHECK(take_number<int>(text) == 12);
  CHECK(take_number<int>(text) == -3);
  CHECK(text == "x 99999999999");
  CHECK_FALSE(take_number<int>(text));
  CHECK(text == "x 99999999999");
  text.remove_prefix(1);
  CHECK_FALSE(take_number<int>(text));
  CHECK(text.empty());
  CHECK_FALSE(take_number<int>(text));
}
