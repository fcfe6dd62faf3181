#include "quarry/base/passed_connections.h"

#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "quarry/base/descriptor_message.h"

namespace quarry::base {

Result<PassedConnections> PassedConnections::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_errno("cannot create a pair of sockets");
  }
  return PassedConnections{Fd(ends[0]), Fd(ends[1])};
}

bool pass_connection(int passing, int connection) {
  constexpr std::array kNothing{std::byte{0}};
  return send_descriptors(passing, kNothing, std::array{connection}, MSG_DONTWAIT);
}

Fd take_connection(int taking) {
  std::array<std::byte, 1> nothing{};
  std::array connection{-1};
  const std::size_t came = receive_descriptors(taking, nothing, connection, MSG_DONTWAIT);
  return came == 1 ? Fd(connection[0]) : Fd();
}

}  // namespace quarry::base
