// Expands a compressed blob (blob.h) in pieces, with constant memory. This reader is for blobs that
// might not fit into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

class BlobReader {
 public:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;

  /// BLOB is not owned. Errors: kInvalid (BLOB is shorter than its prefix), kLimit (BLOB declares
  /// more than MAX_SIZE bytes).
  static Result<BlobReader> open(std::string_view blob, std::size_t max_size);
  BlobReader(BlobReader&& other) noexcept;
  BlobReader& operator=(BlobReader&& other) noexcept;
  ~BlobReader();

  /// Returns the next piece, which is valid until the next call. All pieces except the last are
  /// kPiece bytes long. Returns an empty piece after the last one. Error: kInvalid, in the same
  /// cases as blob_expand(). After an error, next() must not be called again.
  Result<std::string_view> next();

 private:
  struct State;
  explicit BlobReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::artifact
