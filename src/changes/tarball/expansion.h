// Reads the uncompressed archive of a tarball, up to a limit. The tarball is uncompressed, or
// compressed with gzip or zstd.
//
// For gzip, zlib is used directly, because libarchive does not verify the checksums of gzip. For
// zstd, libarchive is used. Only one layer of compression is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

class Expansion {
 public:
  /// Starts to read the open file TARBALL, and does not close it. Errors: kLimit (too large), kIo.
  static Result<std::unique_ptr<Expansion>> open(int tarball, const TarballLimits& limits);
  virtual ~Expansion() = default;

  /// Reads into BUFFER. Returns the number of bytes, or 0 at the end of a complete archive. Errors:
  /// kInvalid (damaged or truncated), kLimit (larger than allowed), kIo.
  Result<std::size_t> read(std::span<char> buffer);

 protected:
  virtual Result<std::size_t> expand(std::span<char> buffer) = 0;

 private:
  std::uint64_t left_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace quarry::changes
