// Standard output, as who must not forget what its reader has not taken sees it: how much that is.
//
//   a pipe            the kernel tells what nobody has read yet, also once the reader has gone
//   a socket          it tells what may not have been read (UNIX), or what the other machine
//                     has not confirmed yet (TCP); once the connection is broken, or a write
//                     has failed, nothing
//   a file            what was written is there for good, or once it is synced
//   a terminal, or    what was written is taken: nothing tells more
//   another device
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::app {

class SpoolOutput {
 public:
  /// FD is not owned. IS_SYNCED: what is in a file counts once it survives that the machine stops.
  SpoolOutput(int fd, bool is_synced);

  int fd() const { return fd_; }
  /// Somebody has to read what is written, and may go away.
  bool has_reader() const { return kind_ == Kind::kPipe || kind_ == Kind::kSocket; }
  /// Of WRITTEN bytes so many, at least, have been taken for good, from the first on. Errors: what
  /// the disk says.
  base::Result<std::uint64_t> taken(std::uint64_t written);
  /// A write has failed.
  void write_failed() { has_failed_ = true; }

 private:
  enum class Kind : std::uint8_t { kPipe, kSocket, kFile, kOther };

  Kind kind_ = Kind::kOther;
  int fd_;
  bool is_synced_;
  bool has_failed_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace quarry::app
