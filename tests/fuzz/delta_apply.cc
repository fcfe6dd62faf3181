// Input: a source, a NUL, and a delta on the source. The bytes of the delta also serve as a target,
// for which the test creates a delta.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quarry/artifact/delta.h"
#include "require.h"

using namespace quarry::artifact;

namespace {

constexpr std::size_t kMaxSize = 1 << 20;

void require_round_trip(std::string_view source, std::string_view target) {
  const std::string delta = delta_create(source, target);
  REQUIRE(delta_output_size(delta) == target.size());
  REQUIRE(delta_apply(source, delta, target.size()) == target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view source = input.substr(0, end);
  const std::string_view delta = input.substr(std::min(end + 1, input.size()));

  const auto target = delta_apply(source, delta, kMaxSize);
  if (target) {
    REQUIRE(delta_output_size(delta) == target->size());
    require_round_trip(source, *target);
    require_round_trip(*target, source);
  }
  require_round_trip(source, delta);
  require_round_trip(input, delta);
  return 0;
}
