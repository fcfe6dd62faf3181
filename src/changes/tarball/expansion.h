// Reads the archive inside a tarball, up to a limit: copies it, or decompresses it with gzip or
// zstd.
//
// For gzip, zlib is used directly, since libarchive does not verify gzip's checksums. For zstd,
// libarchive is used, with only one layer of compression.
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
  /// Opens the file TARBALL, which is not owned. Errors: kLimit (too large), kIo.
  static base::Result<std::unique_ptr<Expansion>> open(int tarball, const TarballLimits& limits);
  virtual ~Expansion() = default;

  /// Reads into BUFFER and returns the number of bytes; 0 at the end of a complete archive. Errors:
  /// kInvalid (damaged or truncated), kLimit (larger than allowed), kIo.
  base::Result<std::size_t> read(std::span<char> buffer);

 protected:
  virtual base::Result<std::size_t> expand(std::span<char> buffer) = 0;

 private:
  std::uint64_t left_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace quarry::changes
