// The compressed format of artifacts in a repository (blob.content) and of sync bodies:
//
//   4 bytes, big-endian: size of the uncompressed bytes    then a zlib stream (RFC 1950)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

inline constexpr std::size_t kBlobPrefixSize = 4;

/// Compresses CONTENT (up to 2^32 - 1 bytes).
std::string blob_compress(std::string_view content);
/// Compresses CONTENT better than blob_compress(), but takes ten times as long. Use it for content
/// that is stored permanently.
std::string blob_compress_well(std::string_view content);

/// Returns the uncompressed size that BLOB declares. Error: kInvalid (BLOB is shorter than the
/// prefix).
Result<std::uint32_t> blob_declared_size(std::string_view blob);

/// Expands BLOB. Checks that the declared size is at most MAX_SIZE before it allocates memory.
/// Errors: kInvalid (no prefix, a broken stream, more or fewer bytes than declared, bytes after the
/// end of the stream), kLimit.
Result<std::string> blob_expand(std::string_view blob, std::size_t max_size);

}  // namespace quarry::artifact
