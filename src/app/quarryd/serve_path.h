// quarryd --serve PATH: makes a configuration for a repository or a folder of repositories, without
// a configuration file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// A folder that only its owner can enter. It is removed with its contents when the last reference
/// ends.
using PrivateFolder = std::shared_ptr<const std::filesystem::path>;
/// Reuses EXISTING, which the previous program created before a reload, or creates a folder if it
/// is "". Errors: kIo.
base::Result<PrivateFolder> private_folder(const std::string& existing);

struct ServeOptions {
  std::filesystem::path path;
  base::SocketAddress http;
  std::size_t children = 0;  // 0: chosen according to the number of processors
  bool running_as_root = false;
  bool has_changes = false;  // whether there are queues of change sets
  bool has_pages = true;     // whether to serve fossil's pages, if fossil is installed
};

/// Returns a configuration with an HTTP front and a pool that serves OPTIONS.path on a socket in
/// FOLDER. The pool's user becomes the owner of FOLDER. As root, the children run as the owner of
/// what they serve. Errors: kNotFound, kInvalid, kIo.
base::Result<master::Config> config_to_serve(const ServeOptions& options,
                                             const PrivateFolder& folder);

}  // namespace quarry::app
