// Digests written to the caller's memory, for digest.h and HashName, so that a push with many small
// artifacts does not allocate a string for each.
#pragma once

#include <string_view>

namespace quarry::artifact {

enum class DigestKind { kMd5, kSha1, kSha3_256 };

/// Writes the digest of BYTES as lower-case hex to OUT, which has room for hex_length(KIND) digits.
void hex_digest(DigestKind kind, std::string_view bytes, char* out);

constexpr std::size_t hex_length(DigestKind kind) {
  switch (kind) {
    case DigestKind::kMd5:
      return 32;
    case DigestKind::kSha1:
      return 40;
    case DigestKind::kSha3_256:
      break;
  }
  return 64;
}

}  // namespace quarry::artifact
