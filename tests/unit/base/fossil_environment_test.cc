#include "quarry/base/fossil_environment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using quarry::base::fossil_environment;

namespace {

using Environment = std::vector<std::string>;

Environment with(const char* variable, const std::filesystem::path& library) {
  const std::array<const char*, 3> given{"HOME=/home/ann", variable, nullptr};
  auto environment = fossil_environment(given.data(), library);
  std::ranges::sort(environment);
  return environment;
}

}  // namespace

TEST_CASE("fossil is started with the library, before other preloaded ones") {
  CHECK(with("USER=ann", "/lib/guard.so") ==
        Environment{"HOME=/home/ann", "LD_PRELOAD=/lib/guard.so", "USER=ann"});
  CHECK(with("LD_PRELOAD=/lib/other.so", "/lib/guard.so") ==
        Environment{"HOME=/home/ann", "LD_PRELOAD=/lib/guard.so:/lib/other.so"});
  CHECK(with("LD_PRELOAD=", "/lib/guard.so") ==
        Environment{"HOME=/home/ann", "LD_PRELOAD=/lib/guard.so"});
  CHECK(fossil_environment(nullptr, "/lib/guard.so") == Environment{"LD_PRELOAD=/lib/guard.so"});
}

TEST_CASE("fossil is started even if the library cannot be loaded") {
  const Environment as_given{"HOME=/home/ann", "LD_PRELOAD=/lib/other.so"};
  CHECK(with("LD_PRELOAD=/lib/other.so", "") == as_given);
  CHECK(with("LD_PRELOAD=/lib/other.so", "/a folder/guard.so") == as_given);
}
