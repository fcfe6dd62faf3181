// Checks sections of the configuration against each other: their listening addresses, the files
// that the server writes, and the permission of the HTTP front to connect to its pool.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/socket.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"

namespace quarry::master {

/// The listening addresses of all sections.
class Listens {
 public:
  /// Adds the ADDRESS of SECTION. Returns an error if another section listens on the same address,
  /// or on all addresses with the same port. IS_IPV6_ONLY: see base::ListenOptions.
  std::optional<std::string> add(const base::SocketAddress& address, const std::string& section,
                                 bool is_ipv6_only = false);
  /// Returns the section that listens on the Unix socket PATH, or nullopt.
  std::optional<std::string> listener_at(const std::string& path) const;

 private:
  struct ListenEntry {
    base::SocketAddress address;
    std::string section;
    bool is_ipv6_only;
  };
  static bool collide(const ListenEntry& one, const ListenEntry& other);
  static bool includes(const ListenEntry& one, const ListenEntry& other);
  std::vector<ListenEntry> entries_;
};

/// The files that the server writes. The pid file is overwritten, so other files must not have the
/// same path. Logs of different kinds must not be mixed.
class WrittenFiles {
 public:
  /// Adds the file PATH ("": none) from DIRECTIVE of SECTION. Returns an error if another directive
  /// already uses PATH. Several pools can use the same file for the same directive. Paths other
  /// than regular files, such as /dev/stderr, are not restricted.
  std::optional<std::string> add(const std::string& section, const std::string& directive,
                                 const std::string& path);

 private:
  struct WrittenFile {
    std::string section;
    std::string directive;
    std::string path;
  };
  std::vector<WrittenFile> files_;
};

/// Returns whether WHO has permission to connect to a Unix socket that MAKER creates with OPTIONS.
/// The folders in the socket's path are not checked.
bool may_connect(const base::ListenOptions& options, const Credentials& maker,
                 const Credentials& who);

/// Returns the reason why POOL refuses connections of the front, or nullopt if POOL accepts
/// connections. RUN_AS is the front's user if the master is root.
std::optional<std::string> why_front_is_refused(const PoolConfig& pool,
                                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
