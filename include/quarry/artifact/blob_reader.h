// The bytes of a compressed blob (blob.h) one piece after the other, in memory that does not grow
// with them: for looking at what may be too much to hold.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

class BlobReader {
 public:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;

  /// Of BLOB, which is not owned. Errors: kInvalid (shorter than its prefix), kLimit (it declares
  /// more than MAX_SIZE bytes).
  static base::Result<BlobReader> open(std::string_view blob, std::size_t max_size);
  BlobReader(BlobReader&& other) noexcept;
  BlobReader& operator=(BlobReader&& other) noexcept;
  ~BlobReader();

  /// The next piece, of kPiece bytes unless it is the last, valid until the call after; empty at
  /// the end. Error kInvalid: as blob_expand() finds the same blob to be. After an error there is
  /// nothing more to read.
  base::Result<std::string_view> next();

 private:
  struct State;
  explicit BlobReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::artifact
