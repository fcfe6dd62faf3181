#include "acknowledgements.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "quarry/base/escape.h"
#include "quarry/base/number.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::size_t kMaxDigits = 18;
// More messages than can exist, so that sums do not overflow.
constexpr std::uint64_t kMaxMessages = std::uint64_t{1} << 62;

std::string name_of(int fd) {
  return fd == STDIN_FILENO ? "standard input" : fmt::format("descriptor {}", fd);
}

}  // namespace

Result<Acknowledgements> Acknowledgements::open(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return base::fail_errno(name_of(fd));
  if ((flags & O_ACCMODE) == O_WRONLY) {
    return fail(ErrorCode::kInvalid, name_of(fd) + ": it is not open for reading");
  }
  return Acknowledgements(fd);
}

std::string Acknowledgements::name() const {
  return name_of(fd_);
}

/// Parses the next character of a line.
Result<void> Acknowledgements::add(char next) {
  const bool is_end = next == '\n';
  if (!is_end) line_ += next;
  const bool is_digit = next >= '0' && next <= '9';
  if ((!is_end && !is_digit) || line_.size() > kMaxDigits) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: \"{}\" acknowledges nothing: a line must be empty, or a number of "
                            "messages",
                            name(), base::printable(line_, kMaxDigits + 1)));
  }
  if (!is_end) return {};
  const std::uint64_t value = base::parse_number<std::uint64_t>(line_).value_or(1);
  line_.clear();
  count_ = value < kMaxMessages - count_ ? count_ + value : kMaxMessages;
  return {};
}

Result<void> Acknowledgements::read() {
  std::array<char, 4096> buffer;
  const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (size < 0) return base::fail_errno(name());
  if (size == 0) has_ended_ = true;
  for (const char next : std::span(buffer).first(static_cast<std::size_t>(size))) {
    QUARRY_TRY(add(next));
  }
  return {};
}

}  // namespace quarry::app
