#include "quarry/base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "quarry/base/escape.h"
#include "quarry/base/number.h"

namespace quarry::base {
namespace {

Result<std::uint16_t> parse_port(std::string_view text) {
  if (const auto port = parse_number<std::uint16_t>(text)) return *port;
  return fail(ErrorCode::kInvalid, "\"{}\" is not a port (0 to 65535)", text);
}

/// Parses a port like parse_port(). The error message also helps users who meant the path of a
/// socket.
Result<std::uint16_t> parse_bare_port(std::string_view text) {
  auto port = parse_port(text);
  if (!port) port.error().message += " or the path of a socket, which starts with /";
  return port;
}

/// Returns the four bytes of an IPv4 or IPv4-mapped address, in network byte order.
std::optional<in_addr> as_ipv4(const sockaddr_storage& storage) {
  in_addr result{};
  if (storage.ss_family == AF_INET) {
    std::memcpy(&result, reinterpret_cast<const char*>(&storage) + offsetof(sockaddr_in, sin_addr),
                sizeof result);
    return result;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(storage);
  if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return std::nullopt;
  std::memcpy(&result, &in6.sin6_addr.s6_addr[12], sizeof result);
  return result;
}

Result<void> remove_stale(const SocketAddress& address) {
  const std::string path = address.path();
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("cannot examine {}", path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalid, "{} already exists and is not a socket", path);
  }
  // Use a datagram socket, because a connection would be a request for a running server. If a socket
  // of another type is bound to PATH, connect(2) fails with EPROTOTYPE.
  const Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe) return fail_errno("cannot create a socket");
  if (::connect(probe.get(), address.get(), address.size()) == 0 || errno != ECONNREFUSED) {
    return fail(ErrorCode::kBusy, "another program listens on {}", path);
  }
  if (::unlink(path.c_str()) != 0) return fail_errno("cannot remove {}", path);
  return {};
}

Result<void> bind_unix(const Fd& fd, const SocketAddress& address, const ListenOptions& options) {
  QUARRY_TRY(remove_stale(address));
  const std::string path = address.path();
  if (::bind(fd.get(), address.get(), address.size()) != 0) {
    return fail_errno("cannot bind {}", path);
  }
  // Clients cannot connect before listen(2), so the socket never accepts clients with a wrong owner
  // or mode.
  const auto done = set_owner_and_mode(path, options);
  if (!done) ::unlink(path.c_str());
  return done;
}

Result<void> bind_tcp(const Fd& fd, const SocketAddress& address, const ListenOptions& options) {
  const int on = 1;
  const int ipv6_only = options.is_ipv6_only ? 1 : 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Set TCP_NODELAY here, because accepted connections inherit it, which saves a system call per
  // connection.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (address.family() == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &ipv6_only, sizeof ipv6_only);
  }
  if (::bind(fd.get(), address.get(), address.size()) == 0) return {};
  if (errno == EADDRINUSE) {
    return fail(ErrorCode::kBusy, "another program listens on {}", address.str());
  }
  return fail_errno("cannot bind {}", address.str());
}

/// Starts to listen, or changes the backlog of a listening socket.
Result<void> begin_listening(const Fd& fd, const SocketAddress& address,
                             const ListenOptions& options) {
  // If another process clears O_NONBLOCK, this timeout keeps accept(2) from blocking.
  const timeval moment{0, 1000};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
  if (::listen(fd.get(), options.backlog) == 0) return {};
  return fail_errno("cannot listen on {}", address.str());
}

}  // namespace

Result<SocketAddress> SocketAddress::parse_ip(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  const std::string host = text == "localhost" ? "127.0.0.1" : std::string(text);
  SocketAddress address;
  auto& in4 = reinterpret_cast<sockaddr_in&>(address.storage_);
  auto& in6 = reinterpret_cast<sockaddr_in6&>(address.storage_);
  if (::inet_pton(AF_INET, host.c_str(), &in4.sin_addr) == 1) {
    in4.sin_family = AF_INET;
    address.size_ = sizeof in4;
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    address.size_ = sizeof in6;
    return address;
  }
  return fail(ErrorCode::kInvalid, "\"{}\" is not an IPv4 or IPv6 address", text);
}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  SocketAddress address;
  if (text.find('/') != std::string_view::npos) {
    auto& local = reinterpret_cast<sockaddr_un&>(address.storage_);
    if (text.size() >= sizeof local.sun_path) {
      return fail(ErrorCode::kInvalid, "the path of the socket \"{}\" is longer than {} bytes",
                  printable(text), sizeof local.sun_path - 1);
    }
    if (text.find('\0') != std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "the path of the socket contains a NUL");
    }
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, text.data(), text.size());
    address.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + 1);
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    QUARRY_TRY_ASSIGN(const std::uint16_t port, parse_bare_port(text));
    auto& in4 = reinterpret_cast<sockaddr_in&>(address.storage_);
    in4.sin_family = AF_INET;
    in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in4.sin_port = htons(port);
    address.size_ = sizeof in4;
    return address;
  }
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "\"{}\": an IPv6 address must be written as [ADDRESS]:PORT",
                text);
  }
  QUARRY_TRY_ASSIGN(address, parse_ip(host));
  QUARRY_TRY_ASSIGN(const std::uint16_t port, parse_port(text.substr(colon + 1)));
  // sin_port and sin6_port have the same offset.
  reinterpret_cast<sockaddr_in&>(address.storage_).sin_port = htons(port);
  return address;
}

std::optional<SocketAddress> SocketAddress::of(const sockaddr* from, socklen_t size) {
  SocketAddress address;
  if (size > sizeof address.storage_ || size < sizeof(sa_family_t)) return std::nullopt;
  std::memcpy(&address.storage_, from, size);
  address.size_ = size;
  const int family = address.family();
  if (family != AF_UNIX && family != AF_INET && family != AF_INET6) return std::nullopt;
  return address;
}

bool SocketAddress::is_loopback() const {
  if (const auto ipv4 = as_ipv4(storage_)) return (ntohl(ipv4->s_addr) >> 24) == 127;
  if (family() != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
}

bool SocketAddress::same_ip(const SocketAddress& other) const {
  const auto mine = as_ipv4(storage_);
  const auto theirs = as_ipv4(other.storage_);
  if (mine && theirs) return mine->s_addr == theirs->s_addr;
  if (mine || theirs || family() != AF_INET6 || other.family() != AF_INET6) return false;
  return IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr,
                            &reinterpret_cast<const sockaddr_in6&>(other.storage_).sin6_addr);
}

std::string SocketAddress::path() const {
  if (!is_unix() || size_ <= offsetof(sockaddr_un, sun_path)) return {};
  const auto& local = reinterpret_cast<const sockaddr_un&>(storage_);
  return {local.sun_path, ::strnlen(local.sun_path, size_ - offsetof(sockaddr_un, sun_path))};
}

std::uint16_t SocketAddress::port() const {
  return is_unix() ? std::uint16_t{0}
                   : ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
}

std::string SocketAddress::ip() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (const auto ipv4 = as_ipv4(storage_)) {
    ::inet_ntop(AF_INET, &*ipv4, text.data(), text.size());
  } else if (family() == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(storage_);
    ::inet_ntop(AF_INET6, &in6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

std::string SocketAddress::str() const {
  if (is_unix()) return path();
  const std::string host = ip();
  if (host.find(':') == std::string::npos) return fmt::format("{}:{}", host, port());
  return fmt::format("[{}]:{}", host, port());
}

Result<Fd> listen_on(const SocketAddress& address, const ListenOptions& options) {
  Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot create a socket for {}", address.str());
  if (address.is_unix()) {
    QUARRY_TRY(bind_unix(fd, address, options));
  } else {
    QUARRY_TRY(bind_tcp(fd, address, options));
  }
  QUARRY_TRY(begin_listening(fd, address, options));
  return fd;
}

Result<void> go_on_listening(const Fd& fd, const SocketAddress& address,
                             const ListenOptions& options) {
  int listens = 0;
  socklen_t size = sizeof listens;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  if (listens == 0) {
    return fail(ErrorCode::kInvalid, "the inherited socket for {} is not listening", address.str());
  }
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno("cannot set a socket's mode");
  return begin_listening(fd, address, options);
}

namespace {

/// Opens the socket at PATH with O_PATH. The caller can inspect and change this socket even if
/// another process replaces PATH.
Result<Fd> open_socket_file(const std::string& path, SocketFile* file) {
  Fd fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return fail_errno("cannot examine {}", path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalid, "{} is not a socket", path);
  }
  *file = {status.st_dev, status.st_ino};
  return fd;
}

}  // namespace

Result<SocketFile> socket_file(const std::string& path) {
  SocketFile file;
  QUARRY_TRY(open_socket_file(path, &file));
  return file;
}

Result<void> set_owner_and_mode(const std::string& path, const ListenOptions& options,
                                const std::optional<SocketFile>& file) {
  SocketFile found;
  QUARRY_TRY_ASSIGN(const Fd fd, open_socket_file(path, &found));
  if (file && found != *file) {
    return fail(ErrorCode::kInvalid, "{} was replaced by another socket", path);
  }
  const std::string held = fmt::format("/proc/self/fd/{}", fd.get());
  if (options.access.empty() &&
      (options.owner != static_cast<uid_t>(-1) || options.group != static_cast<gid_t>(-1)) &&
      ::chown(held.c_str(), options.owner, options.group) != 0) {
    return fail_errno("cannot change the owner of {}", path);
  }
  if (::chmod(held.c_str(), options.mode) != 0) {
    return fail_errno("cannot change the mode of {}", path);
  }
  // The access list comes last, because a change of the mode changes the mask of the list.
  const auto granted = grant_access(held, options.mode, options.access);
  if (granted) return {};
  return fail(granted.error().code, "{}: {}", path, granted.error().message);
}

bool has_peer_left(int fd) {
  pollfd connection{fd, POLLRDHUP, 0};
  ::poll(&connection, 1, 0);
  if ((connection.revents & (POLLHUP | POLLERR)) != 0) return true;
  if ((connection.revents & POLLRDHUP) == 0) return false;
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain != AF_UNIX;
}

std::size_t unacknowledged(int socket) {
  int count = 0;
  return ::ioctl(socket, SIOCOUTQ, &count) == 0 ? static_cast<std::size_t>(count) : 0;
}

Result<SocketAddress> local_address(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(fd.get(), address, &size) != 0) {
    return fail_errno("cannot determine the address of a socket");
  }
  const auto known = SocketAddress::of(address, size);
  if (!known) return fail(ErrorCode::kInvalid, "the family of a socket is not supported");
  return *known;
}

}  // namespace quarry::base
