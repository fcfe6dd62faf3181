// How many connections wait to be accepted on a listening socket, Unix or TCP: asked of the kernel
// with sock_diag(7), which needs neither the socket itself nor any right. So the queue can be seen
// from a process that does not hold the socket, and while nobody serves it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace quarry::base {

struct QueueLength {
  std::uint64_t waiting = 0;
  std::uint64_t limit = 0;  // the backlog, as the kernel has it
};

/// Names a listening socket; a plain value that holds no descriptor.
class ListenQueue {
 public:
  /// Of no socket: its length is never known.
  ListenQueue() = default;
  /// Of the listening socket FD, of this network namespace.
  static ListenQueue of(int fd);

  /// Nothing when the kernel does not say.
  std::optional<QueueLength> length() const;

 private:
  std::optional<QueueLength> unix_length() const;
  std::optional<QueueLength> tcp_length() const;

  int family_ = AF_UNSPEC;
  std::uint32_t inode_ = 0;  // Unix
  std::uint16_t port_ = 0;   // TCP; in network order, as the address
  std::array<std::uint32_t, 4> address_{};
};

}  // namespace quarry::base
