// Large replies as FastCGI STDOUT records, straight from the reply's memory.
//
// libfcgi sends a stream in pieces of 8 KiB, each with a system call and a copy of its own; a clone
// of some megabytes spends most of its time there. Here each record is as large as the protocol
// allows, and one sendmsg(2) takes many.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry::worker {

/// Sends BYTES over the blocking socket FD as records of the request REQUEST_ID. False when the
/// other side is gone or the socket's send time-out has passed.
bool send_stdout_records(int fd, std::uint16_t request_id, std::string_view bytes);

}  // namespace quarry::worker
