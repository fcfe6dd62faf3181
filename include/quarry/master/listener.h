// The sockets that services listen on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// A listening socket and, for a Unix socket, its path, which is removed with it (unless somebody
/// else has put another socket there).
class Listener {
 public:
  /// The socket for ADDRESS: one of INHERITED, which loses it, or a new one. OPTIONS are put in
  /// force on both.
  static base::Result<Listener> open(const base::SocketAddress& address,
                                     const base::ListenOptions& options = {},
                                     std::vector<InheritedSocket>* inherited = nullptr);
  Listener() = default;
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();
  int fd() const { return fd_.get(); }
  /// Whether its path is removed with it: not where a service manager opened it.
  bool is_ours() const { return is_ours_; }
  /// Of a Unix socket that is ours and still where it was bound.
  const std::optional<base::SocketFile>& file() const { return file_; }
  /// As it was asked for; "" for none.
  const std::string& asked_for() const { return asked_for_; }
  /// Where it really is: with its port, where the configuration left that open.
  const std::optional<base::SocketAddress>& address() const { return address_; }

 private:
  base::Fd fd_;
  std::string asked_for_;
  bool is_ours_ = true;
  std::optional<base::SocketAddress> address_;
  std::optional<base::SocketFile> file_;  // nothing: there is no file to remove
};

}  // namespace quarry::master
