#include "record_writer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "stop_signal.h"

namespace quarry::worker {
namespace {

constexpr std::size_t kHeaderSize = 8;
constexpr std::size_t kMostContent = 65528;  // the largest multiple of 8: no padding
constexpr std::size_t kRecordsPerCall = 32;

using Header = std::array<unsigned char, kHeaderSize>;

Header header_of(int request_id, std::size_t content) {
  constexpr unsigned char kVersion = 1;
  constexpr unsigned char kStdout = 6;
  const auto low = [](std::size_t value) { return static_cast<unsigned char>(value & 0xFF); };
  const auto id = static_cast<std::size_t>(request_id);
  return {kVersion, kStdout, low(id >> 8), low(id), low(content >> 8), low(content), 0, 0};
}

/// Sends everything that PARTS show; they are changed on the way.
bool send_all(int fd, std::span<iovec> parts) {
  while (!parts.empty()) {
    // A signal that breaks off a send shows as fewer bytes sent, and only before the first as
    // EINTR.
    if (stop_now_requested()) return false;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    auto left = static_cast<std::size_t>(sent);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (left == 0) continue;
    parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + left;
    parts.front().iov_len -= left;
  }
  return true;
}

}  // namespace

bool send_stdout_records(int fd, int request_id, std::string_view bytes) {
  std::array<Header, kRecordsPerCall> headers;
  std::array<iovec, 2 * kRecordsPerCall> parts;
  while (!bytes.empty()) {
    std::size_t records = 0;
    for (; records < kRecordsPerCall && !bytes.empty(); ++records) {
      const std::size_t size = std::min(bytes.size(), kMostContent);
      headers[records] = header_of(request_id, size);
      parts[2 * records] = {headers[records].data(), kHeaderSize};
      // iovec knows no const; sendmsg only reads.
      parts[2 * records + 1] = {const_cast<char*>(bytes.data()), size};
      bytes.remove_prefix(size);
    }
    if (!send_all(fd, std::span(parts).first(2 * records))) return false;
  }
  return true;
}

}  // namespace quarry::worker
