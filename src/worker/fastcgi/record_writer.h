// Sends large replies as FastCGI STDOUT records directly from memory.
//
// libfcgi sends a stream in pieces of 8 KiB, each with a system call and a copy. In a clone of
// several megabytes, this overhead would dominate. Here each record has the maximum size of the
// protocol, and one sendmsg(2) sends many records.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry::worker {

/// Sends BYTES over the blocking socket FD as records of the request REQUEST_ID. Returns false if
/// the peer has disconnected or the send timeout has expired.
bool send_stdout_records(int fd, std::uint16_t request_id, std::string_view bytes);

}  // namespace quarry::worker
