// Where the master listens for `quarry status`: control.socket or, without it, beside the pid file,
// with `control` in place of its `pid`. With neither there is no such socket.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::master {

/// VALUE of control.socket: an absolute path, or `off` for none. Errors: kInvalid.
base::Result<std::optional<base::SocketAddress>> parse_control_socket(const std::string& value);
/// The one beside PID_FILE. Errors: kInvalid (its path would be too long).
base::Result<std::optional<base::SocketAddress>> control_socket_beside(const std::string& pid_file);

/// That of the configuration file PATH, from which nothing else is wanted: whatever is wrong with
/// it, the master that was started with it may still run. Errors: kIo, kNotFound (it has none).
base::Result<base::SocketAddress> control_socket_in(const std::filesystem::path& path);

}  // namespace quarry::master
