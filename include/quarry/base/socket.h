// Where a server listens and a client connects: a Unix path or an IPv4/IPv6 address with a port.
// Used by the master (which binds everything), the workers (who is allowed to connect) and the
// gateway (where its pool is).
//
//   /run/quarry/www.sock      a Unix socket (anything with a slash)
//   127.0.0.1:9000            IPv4          localhost:9000 is the same
//   [::1]:9000                IPv6
//   9000                      this machine alone: 127.0.0.1:9000
//   [::]:9000                 every address of the machine, IPv6 and IPv4; 0.0.0.0:9000: IPv4
//
// Port 0 is any free one, for listening; see local_address().
//
// Host names are not resolved: a listening address that depends on a name server is a trap.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

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
  /// TEXT in one of the forms above. Errors: kInvalid (says what is wrong with it).
  static Result<SocketAddress> parse(std::string_view text);
  /// TEXT as a bare IPv4 or IPv6 address without port (brackets allowed); the port is 0.
  static Result<SocketAddress> parse_ip(std::string_view text);
  /// What accept(2) or getsockname(2) filled in; nothing for other families.
  static std::optional<SocketAddress> of(const sockaddr* address, socklen_t size);

  bool is_unix() const { return storage_.ss_family == AF_UNIX; }
  /// 127.0.0.0/8, ::1, and 127.0.0.0/8 written as IPv6. False for a Unix socket.
  bool is_loopback() const;
  /// Whether both are the same IP address, whatever the port; an IPv4 address equals its
  /// IPv4-mapped IPv6 form. False if either is a Unix socket.
  bool same_ip(const SocketAddress& other) const;
  /// Of a Unix socket, otherwise "".
  std::string path() const;
  /// 0 for a Unix socket.
  std::uint16_t port() const;
  /// The IP address alone, IPv4-mapped addresses as IPv4; "" for a Unix socket.
  std::string ip() const;
  /// As parse() reads it.
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
  /// Of a Unix socket; -1 leaves the owner or group as it is.
  uid_t owner = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
  mode_t mode = 0660;
  /// Who may connect beside them. Where it is not empty, owner and group stay as they are.
  AccessList access = {};
};

/// A bound, listening, close-on-exec socket; always non-blocking (the flag is shared by every
/// process that holds the socket; where one of them takes it away, accept(2) waits for a moment
/// only). A Unix socket that nobody listens on any more is replaced; it
/// has its owner and mode before the first connection is possible. Errors: kBusy (somebody listens
/// there), kIo.
Result<Fd> listen_on(const SocketAddress& address, const ListenOptions& options = {});

/// Puts the backlog of OPTIONS in force on FD, a socket that listens on ADDRESS already. Errors:
/// kInvalid (it does not), kIo.
Result<void> go_on_listening(const Fd& fd, const SocketAddress& address,
                             const ListenOptions& options);

/// Which file a Unix socket is.
struct SocketFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const SocketFile&, const SocketFile&) = default;
};
/// The socket at PATH; a link is not followed. Errors: kIo (there is nothing), kInvalid (it is
/// none).
Result<SocketFile> socket_file(const std::string& path);
/// Gives the socket at PATH the owner, mode and access list of OPTIONS. Nothing else at PATH is
/// changed: whoever may write to its folder could have put another's file there. Errors: kInvalid
/// (it is no socket, or not FILE), kIo.
Result<void> set_owner_and_mode(const std::string& path, const ListenOptions& options,
                                const std::optional<SocketFile>& file = std::nullopt);

/// Where FD, a socket, is bound: with the port that it got. Errors: kIo, kInvalid.
Result<SocketAddress> local_address(const Fd& fd);

/// A connected, close-on-exec, blocking socket (TCP_NODELAY for TCP). Errors: kIo.
Result<Fd> connect_to(const SocketAddress& address);

/// Whether nobody has the other end of FD, a connection or a pipe that is written to, any more.
/// Over TCP, who has only ended sending looks like one who has closed.
bool has_peer_left(int fd);

}  // namespace quarry::base
