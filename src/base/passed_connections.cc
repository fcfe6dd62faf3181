#include "quarry/base/passed_connections.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace quarry::base {
namespace {

/// A message with room for one descriptor.
class Message {
 public:
  Message() {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
    message_.msg_control = room_.data();
    message_.msg_controllen = room_.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  msghdr* get() { return &message_; }
  void put(int descriptor) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  /// -1: it has none.
  int descriptor() {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    int descriptor = -1;
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof descriptor)) {
      return -1;
    }
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
  }

 private:
  char byte_ = 0;
  iovec part_{&byte_, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room_{};
  msghdr message_{};
};

}  // namespace

Result<PassedConnections> PassedConnections::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_errno("cannot make a pair of sockets");
  }
  return PassedConnections{Fd(ends[0]), Fd(ends[1])};
}

bool pass_connection(int passing, int connection) {
  Message message;
  message.put(connection);
  return ::sendmsg(passing, message.get(), MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

Fd take_connection(int taking) {
  Message message;
  if (::recvmsg(taking, message.get(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return {};
  return Fd(message.descriptor());
}

}  // namespace quarry::base
