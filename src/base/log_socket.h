// The local socket of a logging daemon: one datagram per line.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// A datagram socket connected to PATH. Its number is above the standard descriptors.
/// Errors: kIo.
Result<Fd> connect_log_socket(const std::string& path);

/// Sends DATAGRAM over FD, which is reconnected to PATH if the daemon was restarted. False: not
/// accepted or, unless IS_PATIENT, not accepted immediately.
bool send_to_log_socket(int fd, const std::string& path, std::string_view datagram,
                        bool is_patient);

}  // namespace quarry::base
