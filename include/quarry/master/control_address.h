// Where the master listens for `quarry status`: control.socket or, by default, a socket next to the
// pid file with `control` in place of `pid` in its name. With neither there is no such socket.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::master {

/// Parses the value of control.socket: an absolute path, or `off`. Errors: kInvalid.
base::Result<std::optional<base::SocketAddress>> parse_control_socket(const std::string& value);
/// The default socket for PID_FILE. Errors: kInvalid (its path would be too long).
base::Result<std::optional<base::SocketAddress>> control_socket_beside(const std::string& pid_file);

/// The socket that the configuration file PATH names. Other mistakes in the file are ignored, since
/// the master that was started with it may still be running. Errors: kIo, kNotFound (no socket).
base::Result<base::SocketAddress> control_socket_in(const std::filesystem::path& path);

}  // namespace quarry::master
