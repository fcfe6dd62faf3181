// quarryd --serve PATH: a configuration for a repository or a folder of repositories, without a
// file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// A folder that only its owner can enter, removed with its contents at the end.
using PrivateFolder = std::shared_ptr<const std::filesystem::path>;
/// Takes over EXISTING, which the previous program created before a reload, or creates a new one if
/// it is "". Error: kIo.
base::Result<PrivateFolder> private_folder(const std::string& existing);

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
