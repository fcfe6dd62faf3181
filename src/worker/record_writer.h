// Large replies as FastCGI STDOUT records, straight from the reply's memory.
//
// libfcgi sends a stream in pieces of 8 KiB, each with a system call and a copy of its own; a clone
// of some megabytes spends most of its time there. Here each record is as large as the protocol
// allows, and one sendmsg(2) takes many.
//
//   record: version 1 | type 6 (STDOUT) | request id, 2 | content length, 2 | padding length | 0
//           content   (FastCGI specification 1.0, section 3.3)
#pragma once

#include <string_view>

namespace quarry::worker {

/// Sends BYTES over the blocking socket FD as records of the request REQUEST_ID. False when the
/// other side is gone or the socket's send time-out has passed.
bool send_stdout_records(int fd, int request_id, std::string_view bytes);

}  // namespace quarry::worker
