#pragma once

#include "quarry/base/socket.h"

/// Returns a connected, close-on-exec, blocking socket. Errors: kIo.
inline quarry::base::Result<quarry::base::Fd> connect_to(
    const quarry::base::SocketAddress& address) {
  quarry::base::Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), address.get(), address.size()) != 0) {
    return quarry::base::fail_errno("cannot connect to " + address.str());
  }
  return fd;
}
