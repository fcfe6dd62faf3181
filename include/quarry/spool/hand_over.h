// Lets other processes append to a stream that one process holds, over a Unix socket.
//
//   HandOver (e.g. a worker) ── request ──> HandOverServer ── Stream::append() ──> disk
//                            <── answer ──                 <── stored ───────────
//
// The answer is sent after append() has returned. By then the messages are on disk (with
// StreamOptions::sync). Requests that arrive together are appended with one sync. If the answer is
// lost or is an error, some of the messages may be in the stream. A client that retries uses the
// same keys (NewMessage::key), so that the consumer can recognize duplicates.
//
// The socket's owner and mode determine who may connect. A client that violates the protocol or
// stalls is disconnected; other clients are not affected.
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

/// Maximum size of a request in bytes: the keys and contents of its messages, 6 bytes per message,
/// and 4 bytes.
inline constexpr std::size_t kMaxHandOver = std::size_t{16} << 20;

struct HandOverOptions {
  /// Maximum number of concurrent connections; further clients wait to be accepted.
  std::size_t max_clients = 64;
  /// Maximum number of bytes of partly received requests for all clients together. It must be more
  /// than kMaxHandOver. The server stops reading from a client while its request would exceed this.
  std::size_t max_request_bytes = 4 * kMaxHandOver;
  /// Timeout for reading a request, for sending an answer, and for an idle connection.
  milliseconds time_out{10000};
};

/// Serves clients in its own thread.
class HandOverServer {
 public:
  /// Serves clients of LISTENER, a non-blocking Unix socket (base::listen_on), until the server is
  /// destroyed. STREAM is not owned and must outlive the server. REPORTER is called in the server's
  /// thread when a client is disconnected because of an error. Errors: kInvalid (OPTIONS), kIo.
  static base::Result<std::unique_ptr<HandOverServer>> start(Stream& stream, base::Fd listener,
                                                             Reporter reporter,
                                                             const HandOverOptions& options = {});
  /// Stops the server. Requests that have not been answered by then are not acknowledged.
  virtual ~HandOverServer() = default;
};

/// The client. It opens a connection for each call. Not thread-safe.
class HandOver {
 public:
  /// SOCKET is a path. TIME_OUT applies to a whole call.
  HandOver(std::string socket, milliseconds time_out)
      : socket_(std::move(socket)), time_out_(time_out) {}

  /// Appends MESSAGES (at least one) to the stream and returns the id of the first; the others have
  /// the following ids. They are on disk when the function returns. Errors: kLimit (too long, or
  /// too many), kNotFound (the socket does not exist), kBusy (no answer in time), kIo (the
  /// connection broke), and the errors of append(). After errors other than kLimit and kNotFound,
  /// some of the messages may be in the stream.
  base::Result<std::uint64_t> hand_over(std::span<const NewMessage> messages) const;

 private:
  std::string socket_;
  milliseconds time_out_;
};

}  // namespace quarry::spool
