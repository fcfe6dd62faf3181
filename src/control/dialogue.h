// A client's side of the Unix sockets that answer one line with one document.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::control {

/// The program that listens, and the directive with its socket. Messages name them.
struct Listening {
  std::string_view program;
  std::string_view directive;
};

/// Sends LINE and a newline to SERVER at ADDRESS. Returns the answer, which ends with a newline. Asks
/// again if the connection is closed without an answer, because the server might have been replaced.
/// If KEPT is not null, the answer is one line, and *KEPT becomes the connection.
/// Errors: kNotFound (the server does not run), kDenied, kBusy (no answer before END), kLimit (the
/// answer is too long), kIo.
Result<std::string> converse(const Listening& server, const base::SocketAddress& address,
                             std::string_view line, std::chrono::steady_clock::time_point end,
                             base::Fd* kept = nullptr);

}  // namespace quarry::control
