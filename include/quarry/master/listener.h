// The listening sockets of services.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// A listening socket. The destructor removes the file of a Unix socket. It keeps the file if
/// another socket has replaced it, or if another object shares the socket.
class Listener {
 public:
  /// Takes the socket for ADDRESS from INHERITED, or opens a new socket. Applies OPTIONS to the
  /// socket.
  static Result<Listener> open(const base::SocketAddress& address,
                               const base::ListenOptions& options = {},
                               std::vector<InheritedSocket>* inherited = nullptr);
  /// Returns the text that identifies the socket for ADDRESS with OPTIONS across reloads.
  static std::string name_of(const base::SocketAddress& address,
                             const base::ListenOptions& options);
  Listener() = default;
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();
  int fd() const { return fd_ ? fd_->get() : -1; }
  /// Returns whether the master opened the socket. If a service manager opened the socket, the path
  /// is not removed.
  bool is_ours() const { return is_ours_; }
  /// Returns the file of a Unix socket that is ours and was not replaced; otherwise nullopt.
  const std::optional<base::SocketFile>& file() const { return file_; }
  /// Returns the result of name_of() for the configured address, or "" for an object without a
  /// socket.
  const std::string& asked_for() const { return asked_for_; }
  /// Returns the bound address. If port 0 is configured, the result has the actual port.
  const std::optional<base::SocketAddress>& address() const { return address_; }

 private:
  std::shared_ptr<base::Fd> fd_;
  std::string asked_for_;
  bool is_ours_ = true;
  std::optional<base::SocketAddress> address_;
  std::optional<base::SocketFile> file_;  // the file to remove, if any
};

}  // namespace quarry::master
