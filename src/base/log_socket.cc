#include "log_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>

namespace quarry::base {
namespace {

// Long enough for a slow daemon; a daemon that hangs must not stop the server.
constexpr timeval kSendTimeout{1, 0};

bool connect_to(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<Fd> connect_log_socket(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || !connect_to(fd.get(), path)) {
    return fail_errno(fmt::format("cannot reach the logging daemon at {}", path));
  }
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  return fd;
}

bool send_to_log_socket(int fd, const std::string& path, std::string_view datagram,
                        bool is_patient) {
  const int flags = MSG_NOSIGNAL | (is_patient ? 0 : MSG_DONTWAIT);
  if (::send(fd, datagram.data(), datagram.size(), flags) >= 0) return true;
  if (errno != ECONNREFUSED && errno != ENOTCONN && errno != ECONNRESET) return false;
  return connect_to(fd, path) && ::send(fd, datagram.data(), datagram.size(), flags) >= 0;
}

}  // namespace quarry::base
