// The local socket of a logging daemon: one datagram a line.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// A datagram socket connected to PATH. Its number is above those of the standard descriptors.
/// Errors: kIo.
Result<Fd> connect_log_socket(const std::string& path);

/// Sends DATAGRAM over FD. Where the daemon behind PATH was restarted, FD is connected anew. False:
/// nobody took it, or (unless IS_PATIENT) nobody took it at once.
bool send_to_log_socket(int fd, const std::string& path, std::string_view datagram,
                        bool is_patient);

}  // namespace quarry::base
