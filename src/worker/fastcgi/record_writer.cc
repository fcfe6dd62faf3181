#include "record_writer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "quarry/http/fastcgi.h"
#include "stop_signal.h"

namespace quarry::worker {
namespace {

constexpr std::size_t kRecordsPerCall = 32;

/// Sends all of PARTS. Modifies PARTS.
bool send_all(int fd, std::span<iovec> parts) {
  while (!parts.empty()) {
    // A signal can interrupt sendmsg(2), which then returns a short count or EINTR. Therefore check
    // for a stop before each attempt.
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

bool send_stdout_records(int fd, std::uint16_t request_id, std::string_view bytes) {
  std::array<http::RecordHeaderBytes, kRecordsPerCall> headers;
  std::array<iovec, 2 * kRecordsPerCall> parts;
  while (!bytes.empty()) {
    std::size_t records = 0;
    for (; records < kRecordsPerCall && !bytes.empty(); ++records) {
      const std::size_t size = std::min(bytes.size(), http::kMaxContent);
      headers[records] = http::encode({.type = FCGI_STDOUT,
                                       .request_id = request_id,
                                       .content_length = static_cast<std::uint16_t>(size)});
      parts[2 * records] = {headers[records].data(), headers[records].size()};
      // The cast is safe, because sendmsg(2) only reads the data.
      parts[2 * records + 1] = {const_cast<char*>(bytes.data()), size};
      bytes.remove_prefix(size);
    }
    if (!send_all(fd, std::span(parts).first(2 * records))) return false;
  }
  return true;
}

}  // namespace quarry::worker
