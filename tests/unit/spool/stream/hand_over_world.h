// Client and server of a hand-over in a test, and a raw client.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "hand_over_frames.h"
#include "quarry/base/socket.h"
#include "quarry/spool/hand_over.h"
#include "temporary_folder.h"

namespace quarry::spool {

inline base::Fd listen_at(const std::string& path) {
  auto fd = base::listen_on(base::SocketAddress::parse(path).value());
  REQUIRE(fd);
  return std::move(*fd);
}

/// A connection that can send arbitrary bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    auto fd = base::connect_to(base::SocketAddress::parse(path).value());
    REQUIRE(fd);
    fd_ = std::move(*fd);
  }

  int fd() const { return fd_.get(); }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;  // disconnected already
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  /// Whether there is something to read, or the end, within TIME.
  bool has_news(std::chrono::milliseconds time) const {
    pollfd one{.fd = fd(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, static_cast<int>(time.count())) == 1;
  }
  /// Reads one answer, or what there is until the server disconnects; for five seconds at most.
  std::string read() const {
    std::string bytes;
    std::array<char, 512> buffer;
    while (has_news(std::chrono::seconds(5))) {
      const std::size_t wanted =
          bytes.size() < kFrameHeader ? kFrameHeader : kFrameHeader + body_length(bytes);
      const ssize_t count =
          ::recv(fd(), buffer.data(), std::min(buffer.size(), wanted - bytes.size()), 0);
      if (count <= 0) break;
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
      if (bytes.size() == wanted && wanted > kFrameHeader) break;
    }
    return bytes;
  }
  /// Whether the server disconnects without an answer.
  bool is_dropped() const {
    std::array<char, 1> byte;
    return has_news(std::chrono::seconds(5)) && ::recv(fd(), byte.data(), 1, 0) <= 0;
  }

 private:
  base::Fd fd_;
};

inline base::Result<std::uint64_t> answer_in(std::string_view frame) {
  return decode_answer(frame.substr(std::min<std::size_t>(4, frame.size())));
}

}  // namespace quarry::spool
