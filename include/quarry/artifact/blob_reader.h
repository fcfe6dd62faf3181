// Expands a compressed blob (blob.h) piece by piece, in constant memory, for blobs that may be too
// large to hold.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

class BlobReader {
 public:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;

  /// BLOB is not owned. Errors: kInvalid (shorter than its prefix), kLimit (declares more than
  /// MAX_SIZE bytes).
  static base::Result<BlobReader> open(std::string_view blob, std::size_t max_size);
  BlobReader(BlobReader&& other) noexcept;
  BlobReader& operator=(BlobReader&& other) noexcept;
  ~BlobReader();

  /// The next piece, which has kPiece bytes unless it is the last, and is valid until the next
  /// call. Empty after the last piece. Error: kInvalid, in the same cases as blob_expand(). Do not
  /// call it again after an error.
  base::Result<std::string_view> next();

 private:
  struct State;
  explicit BlobReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::artifact
