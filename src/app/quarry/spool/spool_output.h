// The standard output of a drain. It determines how much of the output the reader has received,
// because a drain only deletes messages that were received.
//
//   a pipe            everything that is not unread in the kernel was received, even if the reader
//                     has exited since
//   a socket          everything that is not unread (UNIX) or unconfirmed by the other host (TCP)
//                     was received, but nothing more after the connection is broken or a write
//                     has failed
//   a file            everything that was written (and synced, if configured) was received
//   a terminal or     everything that was written was received
//   another device
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::app {

class SpoolOutput {
 public:
  /// FD is not owned. If IS_SYNCED, data in a file counts only after it is synced to disk.
  SpoolOutput(int fd, bool is_synced);

  int fd() const { return fd_; }
  /// Returns whether another process, which may exit, reads the output.
  bool has_reader() const { return kind_ == Kind::kPipe || kind_ == Kind::kSocket; }
  /// Returns how many of the first WRITTEN bytes were certainly received. Errors: those of
  /// fdatasync().
  base::Result<std::uint64_t> taken(std::uint64_t written);
  /// Records that a write has failed.
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
