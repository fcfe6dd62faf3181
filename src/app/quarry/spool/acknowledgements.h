// What who reads the messages of a drain says to be done with, on a descriptor of its own: a line
// for each message, which is empty; or a line with a number (decimal, 18 digits at most), for so
// many messages, in the order in which they were written. The end of the stream says that nothing
// is done with any more.
#pragma once

#include <cstdint>
#include <string>

#include "quarry/base/result.h"

namespace quarry::app {

class Acknowledgements {
 public:
  /// From FD, which stays the caller's. Errors: kIo, kInvalid, it is not open for reading.
  static base::Result<Acknowledgements> open(int fd);

  /// To wait for; -1: it has ended.
  int fd() const { return has_ended_ ? -1 : fd_; }
  bool has_ended() const { return has_ended_; }
  /// Reads what is there (waits, if there is nothing). Returns how many messages it is for. Errors:
  /// kInvalid, a line is none of the protocol's; what came before it counts (see count()).
  base::Result<void> read();
  /// Messages that were acknowledged, and not taken off here yet.
  std::uint64_t count() const { return count_; }
  void take(std::uint64_t count) { count_ -= count; }
  /// "descriptor 3"
  std::string name() const;

 private:
  explicit Acknowledgements(int fd) : fd_(fd) {}
  base::Result<void> add(char next);

  int fd_;
  bool has_ended_ = false;
  std::string line_;  // that has begun
  std::uint64_t count_ = 0;
};

}  // namespace quarry::app
