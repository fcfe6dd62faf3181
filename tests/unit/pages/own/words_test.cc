#include "own/words.h"

#include <doctest/doctest.h>

using namespace quarry::pages;
using quarry::base::UnixMillis;

TEST_CASE("ages are shown in the largest unit that fits") {
  const auto age = [](std::int64_t passed) {
    return age_of(UnixMillis{0}, UnixMillis{passed * 1000});
  };
  CHECK(age(0) == "just now");
  CHECK(age(-5) == "just now");
  CHECK(age(59) == "just now");
  CHECK(age(60) == "1 minute ago");
  CHECK(age(7'199) == "1 hour ago");
  CHECK(age(2 * 86'400) == "2 days ago");
  CHECK(age(40LL * 86'400) == "1 month ago");
  CHECK(age(800LL * 86'400) == "2 years ago");
}

TEST_CASE("sizes have two or three digits") {
  CHECK(size_in_words(0) == "0.0 kB");
  CHECK(size_in_words(1'234) == "1.2 kB");
  CHECK(size_in_words(999'400) == "999 kB");
  CHECK(size_in_words(999'600) == "1.0 MB");
  CHECK(size_in_words(45'000'000'000) == "45 GB");
  CHECK(size_in_words(4'500'000'000'000'000) == "4500 TB");
}
