// quarryd --serve PATH: a configuration for a repository or a folder of repositories, without a
// file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// A folder that only its owner can enter, removed with its contents at the end.
class PrivateFolder {
 public:
  static base::Result<PrivateFolder> create();
  /// Takes over PATH, which the previous program's create() made before a reload.
  static PrivateFolder adopt(const std::filesystem::path& path);
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder() = default;
  std::filesystem::path path_;
};

struct ServeOptions {
  std::filesystem::path path;
  base::SocketAddress http;
  std::size_t children = 0;  // 0: derived from the number of processors
  bool running_as_root = false;
  bool has_changes = false;  // queues of change sets
  bool has_pages = true;     // fossil's pages, if it is installed
};

/// A pool that serves OPTIONS.path on a socket in FOLDER (which is given to the pool's user),
/// behind the HTTP front. If run as root, the children run as the owner of what they serve. Errors:
/// kNotFound, kInvalid, kIo.
base::Result<master::Config> config_to_serve(const ServeOptions& options,
                                             const PrivateFolder& folder);

}  // namespace quarry::app
