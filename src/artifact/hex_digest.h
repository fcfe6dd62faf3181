// Message digests, selected by DigestKind, for digest.h, RunningDigest and HashName.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "quarry/artifact/running_digest.h"

namespace quarry::artifact {

/// Writes the digest of BYTES as lower-case hex to OUT, which must have room for hex_length(KIND)
/// digits. Does not allocate memory, which matters for a push with many small artifacts.
void hex_digest(DigestKind kind, std::string_view bytes, char* out);

constexpr std::size_t hex_length(DigestKind kind) {
  return std::array<std::size_t, 3>{32, 40, 64}[static_cast<std::size_t>(kind)];
}

/// Returns OpenSSL's algorithm for KIND. The pointer is valid until the process exits. Throws
/// std::runtime_error if OpenSSL does not support the algorithm.
const EVP_MD* algorithm_of(DigestKind kind);

/// Writes BYTES as lower-case hex to OUT, which must have room for twice as many bytes.
void write_hex(std::basic_string_view<unsigned char> bytes, char* out);

}  // namespace quarry::artifact
