// Socket addresses, listening sockets and connections. An address is a Unix path, or an IPv4 or
// IPv6 address with a port.
//
//   /run/quarry/www.sock      a Unix socket (anything with a slash)
//   127.0.0.1:9000            IPv4          localhost:9000 is the same
//   [::1]:9000                IPv6
//   9000                      loopback only: 127.0.0.1:9000
//   [::]:9000                 all addresses of the machine, IPv6 and IPv4; 0.0.0.0:9000: IPv4 only
//
// With port 0, the kernel chooses a port; see local_address().
//
// Host names are not resolved because listening addresses must not depend on a name server.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/acl.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

class SocketAddress {
 public:
  /// Parses an address in one of the forms at the top of this file. Errors: kInvalid.
  static Result<SocketAddress> parse(std::string_view text);
  /// Parses an IPv4 or IPv6 address without a port; brackets are allowed. The port is 0.
  static Result<SocketAddress> parse_ip(std::string_view text);
  /// Converts an address from accept(2) or getsockname(2). Returns nullopt if the address is not a
  /// Unix, IPv4 or IPv6 address.
  static std::optional<SocketAddress> of(const sockaddr* address, socklen_t size);

  bool is_unix() const { return storage_.ss_family == AF_UNIX; }
  /// Returns whether the address is ::1 or in 127.0.0.0/8 (also in IPv4-mapped form). Returns false
  /// for a Unix socket.
  bool is_loopback() const;
  /// Returns whether this address and OTHER have the same IP address; ports are ignored. An IPv4
  /// address equals its IPv4-mapped IPv6 form. Returns false if one of the addresses is a Unix
  /// socket.
  bool same_ip(const SocketAddress& other) const;
  /// Returns the path of a Unix socket, or "" for other addresses.
  std::string path() const;
  /// Returns the port, or 0 for a Unix socket.
  std::uint16_t port() const;
  /// Returns only the IP address, or "" for a Unix socket. An IPv4-mapped address is returned as
  /// IPv4.
  std::string ip() const;
  /// Returns the address in a form that parse() reads.
  std::string str() const;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.str() == b.str();
  }

 private:
  SocketAddress() = default;

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

struct ListenOptions {
  int backlog = 511;
  /// Owner and group of a Unix socket; -1 leaves them unchanged.
  uid_t owner = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
  mode_t mode = 0660;
  /// Additional users and groups that can connect. If the list is not empty, owner and group are
  /// ignored.
  AccessList access = {};
  /// Whether an IPv6 socket refuses IPv4 connections. Set if another socket accepts them.
  bool is_ipv6_only = false;
};

/// Returns a bound, listening, close-on-exec, non-blocking socket. Another process that shares the
/// socket could clear the non-blocking flag, so accept(2) also has a short timeout. A stale Unix
/// socket is replaced. Owner and mode are set before clients can connect. Errors: kBusy (another
/// process listens on ADDRESS), kIo.
Result<Fd> listen_on(const SocketAddress& address, const ListenOptions& options = {});

/// Applies the backlog of OPTIONS to FD, which already listens on ADDRESS. Errors: kInvalid (FD
/// does not listen on ADDRESS), kIo.
Result<void> go_on_listening(const Fd& fd, const SocketAddress& address,
                             const ListenOptions& options);

struct SocketFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const SocketFile&, const SocketFile&) = default;
};
/// Identifies the socket at PATH. Symbolic links are not followed. Errors: kIo (PATH does not
/// exist), kInvalid (not a socket).
Result<SocketFile> socket_file(const std::string& path);
/// Sets the owner, mode and access list of OPTIONS on the socket at PATH. Files of another type are
/// not changed, because a user who can write to the folder might have replaced the socket with
/// someone else's file. Errors: kInvalid (not a socket, or not FILE), kIo.
Result<void> set_owner_and_mode(const std::string& path, const ListenOptions& options,
                                const std::optional<SocketFile>& file = std::nullopt);

/// Returns the address to which the socket FD is bound, with the actual port. Errors: kIo,
/// kInvalid.
Result<SocketAddress> local_address(const Fd& fd);

/// Returns whether the other end of FD is closed. FD is a connection or the writing end of a pipe.
/// A TCP peer that has shut down only its sending side also counts as closed.
bool has_peer_left(int fd);

/// Returns how many of the bytes written to SOCKET the peer has not acknowledged (TCP) or not read
/// (Unix) yet. For a Unix socket, the number includes the kernel's overhead. Returns 0 if the
/// number is unknown.
std::size_t unacknowledged(int socket);

}  // namespace quarry::base
