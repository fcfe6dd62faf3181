// Input: a compressed blob as stored in a repository or received from a peer.
#include "quarry/artifact/blob.h"
#include "quarry/artifact/blob_reader.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "require.h"

using namespace quarry::artifact;

namespace {

/// Expands BLOB in pieces. Returns nullopt if BLOB is incomplete.
std::optional<std::string> in_pieces(std::string_view blob, std::size_t max_size) {
  auto reader = BlobReader::open(blob, max_size);
  if (!reader) return std::nullopt;
  std::string content;
  while (true) {
    const auto piece = reader->next();
    if (!piece) return std::nullopt;
    if (piece->empty()) return content;
    content += *piece;
    REQUIRE(content.size() <= max_size);
  }
}

}  // namespace

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
  // BlobReader uses zlib, which checks the window size that a stream declares. blob_expand() does
  // not check the window size, so it expands some blobs that BlobReader rejects.
  if (const auto read = in_pieces(input, kMaxSize)) REQUIRE(expanded == *read);

  REQUIRE(blob_expand(blob_compress(input), input.size()) == input);
  return 0;
}
