#include "quarry/base/time.h"

#include <doctest/doctest.h>

using namespace quarry::base;

TEST_CASE("an ISO time and its Julian day are the ones that SQLite computes") {
  // Expected value: select julianday('2007-07-21T14:09:59.123')
  const auto time = parse_iso("2007-07-21T14:09:59.123");
  REQUIRE(time);
  CHECK(julian_day(*time) == doctest::Approx(2454303.09026763).epsilon(1e-15));
  CHECK(iso_millis(*time) == "2007-07-21T14:09:59.123");
  CHECK(iso_micros(time->value * 1000 + 4) == "2007-07-21T14:09:59.123004Z");
  CHECK(iso_seconds(*time) == "2007-07-21T14:09:59");
  CHECK(from_julian_day(julian_day(*time)) == *time);
}

TEST_CASE("text that is not an ISO time is refused") {
  for (const char* text :
       {"", "2007", "2007-07-21", "2007-13-01T00:00:00", "2007-07-32T00:00:00",
        "2007-07-21T24:00:00", "2007-07-21T00:60:00", "2007-07-21T00:00:00.",
        "2007-07-21T00:00:00.x", "2007-07-21T00:00:00Z", "x007-07-21T00:00:00"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_iso(text));
  }
}
