// Sends and receives messages with descriptors (SCM_RIGHTS, unix(7)) over a socket pair that
// preserves message boundaries (SOCK_SEQPACKET).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "quarry/base/transfer.h"

namespace quarry::base {

/// The kernel's limit on descriptors per message (SCM_MAX_FD).
inline constexpr std::size_t kMaxDescriptors = 253;

/// Sends BYTES (at least one) with DESCRIPTORS; the caller keeps its own descriptors. FLAGS are
/// passed to sendmsg(2) together with MSG_NOSIGNAL. Returns false, with errno set, if the message
/// was not sent.
inline bool send_descriptors(int socket, std::span<const std::byte> bytes,
                             std::span<const int> descriptors, int flags = 0) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxDescriptors * sizeof(int))> room{};
  if (descriptors.size() > kMaxDescriptors) {
    errno = EINVAL;
    return false;
  }
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  const ssize_t size =
      without_interruption([&] { return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL); });
  return size == static_cast<ssize_t>(bytes.size());
}

/// Receives a message of exactly the size of BYTES, and stores its descriptors in DESCRIPTORS. The
/// descriptors are close-on-exec; excess descriptors are closed. Returns the number of descriptors.
/// Returns 0 if the queue is empty or the message has another size.
inline std::size_t receive_descriptors(int socket, std::span<std::byte> bytes,
                                       std::span<int> descriptors, int flags = 0) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxDescriptors * sizeof(int))> room{};
  if (descriptors.size() > kMaxDescriptors) descriptors = descriptors.first(kMaxDescriptors);
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  // The length does not include padding (CMSG_LEN, not CMSG_SPACE). Otherwise the kernel could
  // store one more descriptor than DESCRIPTORS can hold.
  message.msg_controllen = CMSG_LEN(descriptors.size_bytes());
  const ssize_t size =
      without_interruption([&] { return ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC); });
  const cmsghdr* const head = size < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return 0;
  const std::size_t came = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  std::memcpy(descriptors.data(), CMSG_DATA(head), came * sizeof(int));
  const bool is_whole = (message.msg_flags & MSG_TRUNC) == 0;
  if (is_whole && size == static_cast<ssize_t>(bytes.size())) return came;
  for (const int each : descriptors.first(came)) ::close(each);
  return 0;
}

}  // namespace quarry::base
