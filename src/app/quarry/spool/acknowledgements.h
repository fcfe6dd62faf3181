// Acknowledgements from the program that reads the output of a drain, on a separate descriptor. An
// empty line acknowledges one message; a line with a number (decimal, at most 18 digits)
// acknowledges this number of messages, in the order in which they were written. After the end of
// the stream, nothing more is acknowledged.
#pragma once

#include <cstdint>
#include <string>

#include "quarry/base/result.h"

namespace quarry::app {

class Acknowledgements {
 public:
  /// FD is not owned. Errors: kIo, or kInvalid if it is not open for reading.
  static base::Result<Acknowledgements> open(int fd);

  /// The descriptor to poll; -1 after the end.
  int fd() const { return has_ended_ ? -1 : fd_; }
  bool has_ended() const { return has_ended_; }
  /// Reads the available data, and waits if there is none. The messages are added to count().
  /// Error: kInvalid if a line is malformed; the lines before it still count.
  base::Result<void> read();
  /// Messages that were acknowledged and not yet taken.
  std::uint64_t count() const { return count_; }
  void take(std::uint64_t count) { count_ -= count; }
  /// "descriptor 3"
  std::string name() const;

 private:
  explicit Acknowledgements(int fd) : fd_(fd) {}
  base::Result<void> add(char next);

  int fd_;
  bool has_ended_ = false;
  std::string line_;  // the incomplete last line
  std::uint64_t count_ = 0;
};

}  // namespace quarry::app
