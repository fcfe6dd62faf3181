// Input: a compressed blob as it comes from a file or a peer.
#include "quarry/artifact/blob.h"

#include <cstddef>
#include <cstdint>

#include "require.h"

using namespace quarry::artifact;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxSize = 1 << 20;
  const std::string_view input(reinterpret_cast<const char*>(data), size);

  const auto declared = blob_declared_size(input);
  const auto expanded = blob_expand(input, kMaxSize);
  REQUIRE(declared || !expanded);
  if (expanded) {
    REQUIRE(expanded->size() == *declared);
    REQUIRE(expanded->size() <= kMaxSize);
  }

  REQUIRE(blob_expand(blob_compress(input), input.size()) == input);
  return 0;
}
