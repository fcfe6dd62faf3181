// The number of connections that wait to be accepted on a listening Unix or TCP socket. It is read
// from the kernel with sock_diag(7), which needs neither the socket nor privileges, so that a process
// without the socket can read it, even while no process accepts connections.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace quarry::base {

struct QueueLength {
  std::uint64_t waiting = 0;
  std::uint64_t limit = 0;  // the kernel's value of the backlog
};

/// Identifies a listening socket; a plain value without a descriptor.
class ListenQueue {
 public:
  /// No socket; the length is unknown.
  ListenQueue() = default;
  /// The queue of the listening socket FD, in this network namespace.
  static ListenQueue of(int fd);

  /// nullopt if the kernel does not report it.
  std::optional<QueueLength> length() const;

 private:
  std::optional<QueueLength> unix_length() const;
  std::optional<QueueLength> tcp_length() const;

  int family_ = AF_UNSPEC;
  std::uint32_t inode_ = 0;  // Unix
  std::uint16_t port_ = 0;   // TCP; in network byte order, like the address
  std::array<std::uint32_t, 4> address_{};
};

}  // namespace quarry::base
