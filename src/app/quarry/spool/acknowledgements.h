// Reads acknowledgments for `quarry spool drain`. The program that reads the drain's output sends
// them on a separate descriptor. An empty line acknowledges one message. A line with a number
// (decimal, at most 18 digits) acknowledges that many messages, in the order of the output.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

#include "quarry/base/escape.h"
#include "quarry/base/number.h"
#include "quarry/base/result.h"

namespace quarry::app {

class Acknowledgements {
 public:
  /// Uses FD, which is not owned. Errors: kIo, kInvalid if FD is not open for reading.
  static Result<Acknowledgements> open(int fd) {
    const Acknowledgements opened(fd);
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return fail_errno(opened.name());
    if ((flags & O_ACCMODE) != O_WRONLY) return opened;
    return fail(ErrorCode::kInvalid, opened.name() + ": not open for reading");
  }

  /// Returns the descriptor to poll, or -1 after the end of the stream.
  int fd() const { return has_ended_ ? -1 : fd_; }
  bool has_ended() const { return has_ended_; }
  /// Returns a name for messages, such as "descriptor 3".
  std::string name() const {
    return fd_ == STDIN_FILENO ? "standard input" : fmt::format("descriptor {}", fd_);
  }
  /// Returns the number of acknowledged messages that were not taken yet.
  std::uint64_t count() const { return count_; }
  void take(std::uint64_t count) { count_ -= count; }

  /// Reads the available data, and waits if no data are available. Increases count() by the number
  /// of acknowledged messages. Errors: kInvalid if a line is malformed; the lines before it still
  /// count.
  Result<void> read() {
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (size < 0) return fail_errno(name());
    if (size == 0) has_ended_ = true;
    for (const char next : std::span(buffer).first(static_cast<std::size_t>(size))) {
      QUARRY_TRY(add(next));
    }
    return {};
  }

 private:
  static constexpr std::size_t kMaxDigits = 18;
  // Larger than any real number of messages. The limit prevents overflows in sums.
  static constexpr std::uint64_t kMaxMessages = std::uint64_t{1} << 62;

  explicit Acknowledgements(int fd) : fd_(fd) {}

  /// Handles the next character of a line.
  Result<void> add(char next) {
    const bool is_end = next == '\n';
    if (!is_end) line_ += next;
    const bool is_digit = next >= '0' && next <= '9';
    if ((!is_end && !is_digit) || line_.size() > kMaxDigits) {
      return fail(ErrorCode::kInvalid,
                  "{}: invalid acknowledgment \"{}\": a line must be empty or a "
                  "number of messages",
                  name(), base::printable(line_, kMaxDigits + 1));
    }
    if (!is_end) return {};
    const std::uint64_t value = base::parse_number<std::uint64_t>(line_).value_or(1);
    line_.clear();
    count_ = value < kMaxMessages - count_ ? count_ + value : kMaxMessages;
    return {};
  }

  int fd_;
  bool has_ended_ = false;
  std::string line_;  // the incomplete last line
  std::uint64_t count_ = 0;
};

}  // namespace quarry::app
