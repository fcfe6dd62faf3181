// The number of connections that wait to be accepted on a listening Unix or TCP socket. It is read
// from the kernel with sock_diag(7), which needs neither privileges nor a descriptor of the socket.
// So any process can read it, even while no process accepts connections.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace quarry::base {

struct QueueLength {
  std::uint64_t waiting = 0;
  std::uint64_t limit = 0;  // the backlog that the kernel applies
};

/// Identifies a listening socket. It is a plain value and holds no descriptor.
class ListenQueue {
 public:
  /// Identifies no socket; length() returns nullopt.
  ListenQueue() = default;
  /// Identifies the listening socket FD, which must be in this network namespace.
  static ListenQueue of(int fd);

  /// Returns the current length, or nullopt if the kernel does not report it.
  std::optional<QueueLength> length() const;

 private:
  std::optional<QueueLength> unix_length() const;
  std::optional<QueueLength> tcp_length() const;

  int family_ = AF_UNSPEC;
  std::uint32_t inode_ = 0;  // of a Unix socket
  std::uint16_t port_ = 0;   // of a TCP socket, in network byte order, like the address
  std::array<std::uint32_t, 4> address_{};
};

}  // namespace quarry::base
