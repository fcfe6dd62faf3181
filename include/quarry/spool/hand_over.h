// Only one process can hold a stream open. This process lets other processes append to the stream
// over a Unix socket.
//
//   HandOver (e.g. a worker) ── request ──> HandOverServer ── Stream::append() ──> disk
//                            <── answer ──                 <── stored ───────────
//
// The answer is sent after append() has returned. The messages are then on disk (with
// StreamOptions::sync). Requests that arrive at the same time are flushed to disk together. If the
// answer is lost or is an error, some of the messages might still be in the stream. For a retry,
// the client uses the same keys (NewMessage::key), so that the consumer can recognize duplicates.
//
// The socket's owner and mode restrict access. A client that violates the protocol or stalls is
// disconnected; other clients are not affected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Maximum size of a request in bytes. The size is the sum of the keys and contents of the
/// messages, 6 bytes per message, and 4 bytes for the number of messages.
inline constexpr std::size_t kMaxHandOver = std::size_t{16} << 20;

struct HandOverOptions {
  /// Maximum number of concurrent connections; further clients wait to be accepted.
  std::size_t max_clients = 64;
  /// Maximum number of bytes of all partly received requests together. The limit must be more than
  /// kMaxHandOver. While reading more of a client's request would exceed the limit, the server does
  /// not read from this client.
  std::size_t max_request_bytes = 4 * kMaxHandOver;
  /// Timeout for reading a request, for sending an answer, and for an idle connection.
  milliseconds time_out{10000};
};

/// Serves clients in a separate thread.
class HandOverServer {
 public:
  /// Serves clients of LISTENER, a non-blocking Unix socket (base::listen_on), until the server is
  /// destroyed. STREAM is not owned and must outlive the server. REPORTER is called in the server's
  /// thread when a client is disconnected because of an error. Errors: kInvalid (OPTIONS), kIo.
  static Result<std::unique_ptr<HandOverServer>> start(Stream& stream, base::Fd listener,
                                                       Reporter reporter,
                                                       const HandOverOptions& options = {});
  /// Stops the server and disconnects all clients. Clients that have not received an answer have to
  /// repeat their requests.
  virtual ~HandOverServer() = default;
};

/// The client. Each call opens a connection. If the connection breaks, the call sends its messages
/// once more over a new connection. Not thread-safe.
class HandOver {
 public:
  /// Creates a client of the Unix socket with the path SOCKET. TIME_OUT applies to a whole call. After
  /// IS_INTERRUPTED (if not null) has returned true, a call waits for at most one more second.
  HandOver(std::string socket, milliseconds time_out, std::function<bool()> is_interrupted = {})
      : socket_(std::move(socket)),
        time_out_(time_out),
        is_interrupted_(std::move(is_interrupted)) {}

  /// Appends MESSAGES (at least one) to the stream. Returns the id of the first message; the others
  /// have the following ids. The messages are on disk when the function returns. Errors: kLimit
  /// (messages too long or too many), kNotFound (the socket does not exist), kBusy (no answer in
  /// time, or interrupted), kIo (both connections broke), and the errors from append(). After any
  /// error except kLimit and kNotFound, some of the messages might be in the stream.
  Result<std::uint64_t> hand_over(std::span<const NewMessage> messages) const;

 private:
  std::string socket_;
  milliseconds time_out_;
  std::function<bool()> is_interrupted_;
};

}  // namespace quarry::spool
