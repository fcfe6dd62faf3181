// Sends large replies as FastCGI STDOUT records directly from memory.
//
// libfcgi sends a stream in pieces of 8 KiB, each with its own system call and copy. This would
// dominate the cost of a clone of several megabytes. Here each record is as large as the protocol
// allows, and one sendmsg(2) sends many records.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry::worker {

/// Sends BYTES over the blocking socket FD as records of the request REQUEST_ID. Returns false if
/// the peer has disconnected or the send timeout has expired.
bool send_stdout_records(int fd, std::uint16_t request_id, std::string_view bytes);

}  // namespace quarry::worker
