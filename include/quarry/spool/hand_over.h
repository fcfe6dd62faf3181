// Lets other processes append to a stream that one process holds, over a Unix socket.
//
//   HandOver (e.g. a worker) ── request ──> HandOverServer ── Stream::append() ──> disk
//                            <── answer ──                 <── stored ───────────
//
// The answer is sent after append() has returned, that is, when the messages are on disk (with
// StreamOptions::sync). Requests that arrive together are appended with one sync. If the answer is
// lost or is an error, some of the messages may be in the stream: a client that retries uses the
// same keys (NewMessage::key), so that the consumer can recognize duplicates.
//
// The socket's owner and mode control who may connect. A client that violates the protocol, or
// stalls, is disconnected without effect on the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Maximum size of a request: the messages, 10 bytes per message, and 4.
inline constexpr std::size_t kMaxHandOver = std::size_t{16} << 20;

struct HandOverOptions {
  /// Concurrent connections; others wait to be accepted.
  std::size_t max_clients = 64;
  /// Bytes of requests being received, of all clients together; more than kMaxHandOver. Reading
  /// from a client pauses while its request would exceed this.
  std::size_t max_request_bytes = 4 * kMaxHandOver;
  /// Time limit for reading a request, for sending an answer, and for an idle connection.
  milliseconds time_out{10000};
};

/// Serves clients in its own thread.
class HandOverServer {
 public:
  /// Serves clients of LISTENER, a non-blocking Unix socket (base::listen_on), until destroyed.
  /// STREAM is not owned, and must outlive the server. REPORTER is called in the server's thread
  /// when a client is disconnected for an error. Errors: kInvalid (OPTIONS), kIo.
  static base::Result<std::unique_ptr<HandOverServer>> start(Stream& stream, base::Fd listener,
                                                             Reporter reporter,
                                                             const HandOverOptions& options = {});
  /// Stops the server. Requests without an answer by then are not acknowledged.
  virtual ~HandOverServer() = default;
};

/// The client: opens a connection for each call. Not thread-safe.
class HandOver {
 public:
  /// SOCKET is a path; TIME_OUT applies to a whole call.
  HandOver(std::string socket, milliseconds time_out)
      : socket_(std::move(socket)), time_out_(time_out) {}

  /// Hands over one or more MESSAGES. Returns the id of the first; the others have the following
  /// ids. On return they are on disk. Errors: kLimit (too long, or too many), kNotFound (no such
  /// socket), kBusy (no answer in time), kIo (the connection broke), and the errors of append().
  /// With errors other than kLimit and kNotFound some of the messages may be in the stream.
  base::Result<std::uint64_t> hand_over(std::span<const NewMessage> messages) const;

 private:
  std::string socket_;
  milliseconds time_out_;
};

}  // namespace quarry::spool
