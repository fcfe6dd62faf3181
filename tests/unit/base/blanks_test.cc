#include "quarry/base/blanks.h"

#include <doctest/doctest.h>

#include "quarry/base/split.h"

using namespace quarry::base;
using Words = std::vector<std::string>;

TEST_CASE("blanks around text are removed, and text is split into words at blanks") {
  CHECK(trim_blanks(" \ta b\t ") == "a b");
  CHECK(trim_blanks(" \t") == "");
  CHECK(split_words(" ssh  -e\tnone ") == Words{"ssh", "-e", "none"});
  CHECK(split_words("a,b, c", " ,") == Words{"a", "b", "c"});
  CHECK(split_words("").empty());
}
