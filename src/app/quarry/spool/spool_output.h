// The standard output of a drain. Determines how many bytes the reader has received, because a
// drain deletes only received messages.
//
//   a pipe            all bytes except those that the kernel reports as unread, even after the
//                     reader has exited
//   a socket          all bytes except those that the kernel reports as unread (UNIX) or
//                     unconfirmed (TCP); the number is final when the connection is broken or a
//                     write has failed
//   a file            all written (and synced, if configured) bytes
//   a terminal or     all written bytes
//   another device
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::app {

class SpoolOutput {
 public:
  /// Uses FD, which is not owned. If IS_SYNCED, data in a file counts only after it was synced to
  /// disk.
  SpoolOutput(int fd, bool is_synced);

  int fd() const { return fd_; }
  /// Returns whether another process reads the output. That process might exit.
  bool has_reader() const { return kind_ == Kind::kPipe || kind_ == Kind::kSocket; }
  /// Returns how many of the first WRITTEN bytes were certainly received. Errors: the same as for
  /// fdatasync().
  Result<std::uint64_t> taken(std::uint64_t written);
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
