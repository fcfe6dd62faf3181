// Standard output of a drain, and how much of it the reader has taken. A drain only deletes messages
// that were taken.
//
//   a pipe            what is not unread in the kernel was taken, also after the reader has exited
//   a socket          what is not unread (UNIX) or unconfirmed by the other host (TCP) was taken;
//                     nothing more after the connection is broken or a write has failed
//   a file            what was written was taken, once it is synced if that is configured
//   a terminal, or    what was written was taken
//   another device
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::app {

class SpoolOutput {
 public:
  /// FD is not owned. IS_SYNCED: data in a file counts only after it is synced to disk.
  SpoolOutput(int fd, bool is_synced);

  int fd() const { return fd_; }
  /// Whether another process reads the output, and may exit.
  bool has_reader() const { return kind_ == Kind::kPipe || kind_ == Kind::kSocket; }
  /// Of WRITTEN bytes, how many have been taken at least, from the beginning. Errors: those of
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
