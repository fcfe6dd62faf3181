// The address where the master listens for `quarry status`. The directive control.socket sets the
// address. The default is a socket next to the pid file, with `control` in place of `pid` in the
// name. If no pid file is configured, the master does not listen by default.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::master {

/// Parses the value of control.socket: an absolute path, or `off`. Errors: kInvalid.
Result<std::optional<base::SocketAddress>> parse_control_socket(const std::string& value);
/// Returns the default socket for PID_FILE. Errors: kInvalid (the path of the socket would be too
/// long).
Result<std::optional<base::SocketAddress>> control_socket_beside(const std::string& pid_file);

/// Returns the control socket from the configuration file PATH. Other mistakes in the file are
/// ignored, because the running master might have read an earlier version of the file. Errors: kIo,
/// kNotFound (the configuration does not have a control socket).
Result<base::SocketAddress> control_socket_in(const std::filesystem::path& path);

}  // namespace quarry::master
