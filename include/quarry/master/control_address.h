// The address where the master listens for `quarry status`. It is set by control.socket. The
// default is a socket next to the pid file, with `control` in place of `pid` in its name. Without a
// pid file there is no default.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::master {

/// Parses the value of control.socket: an absolute path, or `off`. Errors: kInvalid.
base::Result<std::optional<base::SocketAddress>> parse_control_socket(const std::string& value);
/// Returns the default socket for PID_FILE. Errors: kInvalid (its path would be too long).
base::Result<std::optional<base::SocketAddress>> control_socket_beside(const std::string& pid_file);

/// Returns the socket that the configuration file PATH names. Other mistakes in the file are
/// ignored because the master that was started with it may still be running. Errors: kIo, kNotFound
/// (the configuration has no control socket).
base::Result<base::SocketAddress> control_socket_in(const std::filesystem::path& path);

}  // namespace quarry::master
