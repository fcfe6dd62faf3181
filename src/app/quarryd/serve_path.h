// quarryd --serve PATH: creates the configuration to serve a repository or a folder of
// repositories, without a configuration file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/gateway/certificate.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// A folder that only its owner can enter. The folder and its contents are removed with the last
/// reference.
using PrivateFolder = std::shared_ptr<const std::filesystem::path>;
/// Returns the folder EXISTING, which the previous program created before a reload. If EXISTING is
/// "", creates a folder. Errors: kIo.
Result<PrivateFolder> private_folder(const std::string& existing);

/// Default of ServeOptions::http if ServeOptions::https is not set.
inline constexpr const char* kDefaultHttp = "127.0.0.1:8080";

struct ServeOptions {
  std::filesystem::path path;
  std::optional<base::SocketAddress> http = {};
  std::optional<base::SocketAddress> https = {};
  gateway::CertificateFiles certificate = {};  // with https
  std::size_t children = 0;                    // 0: depends on the number of processors
  bool running_as_root = false;
  std::string user = {};     // user to run as if started as root (default: the owner of PATH)
  bool has_changes = false;  // whether to serve queues of change sets
  bool has_pages = true;     // whether to serve fossil's pages, if fossil is installed
};

/// Returns a configuration with an HTTP front and a pool that serves OPTIONS.path on a socket in
/// FOLDER. The pool's user becomes the owner of FOLDER. If the server runs as root, the children
/// run as OPTIONS.user. Errors: kNotFound, kInvalid, kDenied, kIo.
Result<master::Config> config_to_serve(const ServeOptions& options, const PrivateFolder& folder);

}  // namespace quarry::app
