// The number of connections that wait to be accepted on a listening Unix or TCP socket. The kernel
// reports the number through sock_diag(7), which does not need privileges or a descriptor of the
// socket. So any process can read the number at any time.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace quarry::base {

struct QueueLength {
  std::uint64_t waiting = 0;
  std::uint64_t limit = 0;  // the backlog that the kernel applies
};

/// Identifies a listening socket by value, without a descriptor.
class ListenQueue {
 public:
  /// Creates an object that does not refer to a socket. Its length() returns nullopt.
  ListenQueue() = default;
  /// Identifies the listening socket FD, which must belong to the network namespace of this
  /// process.
  static ListenQueue of(int fd);

  /// Returns the current length, or nullopt if the kernel does not report the length.
  std::optional<QueueLength> length() const;

 private:
  std::optional<QueueLength> unix_length() const;
  std::optional<QueueLength> tcp_length() const;

  int family_ = AF_UNSPEC;
  std::uint32_t inode_ = 0;  // of a Unix socket
  std::uint16_t port_ = 0;   // of a TCP socket, in network byte order
  std::array<std::uint32_t, 4> address_{};
};

}  // namespace quarry::base
