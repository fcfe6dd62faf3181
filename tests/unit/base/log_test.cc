#include "quarry/base/log.h"

#include <doctest/doctest.h>

using namespace quarry::base;

TEST_CASE("printable text stays as it is and nothing can forge a log line") {
  CHECK(printable("/repo?x=1 ü") == "/repo?x=1 ü");
  CHECK(printable("a\nb\\c\x1b[0m\xff") == "a\\x0ab\\x5cc\\x1b[0m\\xff");
  CHECK(printable("\xc2\x85") == "\\xc2\\x85");
  CHECK(printable("abcdef", 3) == "abc…");
}
