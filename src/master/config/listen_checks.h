// Whether what the sections of a configuration listen on fits together, and whether the HTTP front
// may connect to the pool behind it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/socket.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"

namespace quarry::master {

/// What all sections listen on.
class Listens {
 public:
  /// SECTION listens on ADDRESS. Returns why it cannot, where another does: there, or on all
  /// addresses with its port.
  std::optional<std::string> add(const base::SocketAddress& address, const std::string& section);
  /// The section whose socket is the file PATH.
  std::optional<std::string> listener_at(const std::string& path) const;

 private:
  struct ListenEntry {
    base::SocketAddress address;
    std::string section;
  };
  std::vector<ListenEntry> entries_;
};

/// Whether WHO may connect to a Unix socket that MAKER makes with OPTIONS, as far as the socket
/// itself is concerned.
bool may_connect(const base::ListenOptions& options, const Credentials& maker,
                 const Credentials& who);

/// Why POOL would not take connections of the front before it; nothing: it would. RUN_AS: whom the
/// front becomes, where the master is root.
std::optional<std::string> why_front_is_refused(const PoolConfig& pool,
                                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
