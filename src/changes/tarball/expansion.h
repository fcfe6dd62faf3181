// The archive in a tarball: its bytes as they are, or expanded by gzip or zstd, up to a limit.
//
// gzip is expanded with zlib itself, since libarchive does not look at its checksums; zstd with
// libarchive, one layer of it.
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
  /// Of the file TARBALL, which stays open. Errors: kLimit, it is too large; kIo.
  static base::Result<std::unique_ptr<Expansion>> open(int tarball, const TarballLimits& limits);
  virtual ~Expansion() = default;

  /// Fills some of BUFFER. Returns how much; 0: that was all, and it came to its proper end.
  /// Errors: kInvalid, damaged or cut short; kLimit, more than it may be; kIo.
  base::Result<std::size_t> read(std::span<char> buffer);

 protected:
  virtual base::Result<std::size_t> expand(std::span<char> buffer) = 0;

 private:
  std::uint64_t left_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace quarry::changes
