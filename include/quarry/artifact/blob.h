// The compressed form in which a repository keeps an artifact (blob.content), and in which a sync
// body travels:
//
//   4 bytes, big-endian: size of the uncompressed bytes    then a zlib stream (RFC 1950)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

/// Compresses CONTENT (up to 2^32 - 1 bytes).
std::string blob_compress(std::string_view content);
/// The same as small as can be, which takes ten times as long: for what is kept for good.
std::string blob_compress_well(std::string_view content);

/// The uncompressed size that BLOB declares. Error kInvalid: shorter than the prefix.
base::Result<std::uint32_t> blob_declared_size(std::string_view blob);

/// The uncompressed bytes. Nothing is allocated before the declared size was found to be at most
/// MAX_SIZE. Errors: kInvalid (no prefix, a broken stream, a stream that makes more or fewer bytes
/// than declared, bytes after its end), kLimit.
base::Result<std::string> blob_expand(std::string_view blob, std::size_t max_size);

}  // namespace quarry::artifact
