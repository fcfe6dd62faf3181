// How other processes put messages into a stream that one process holds: over a Unix socket.
//
//   HandOver (a worker, say) ── request ──> HandOverServer ── Stream::append() ──> disk
//                            <── answer ──                 <── it is there ──────
//
// The answer is sent after append() has returned, which is to say when the messages are on the disk
// (with StreamOptions::sync). Requests of several clients that have come meanwhile are appended
// together, with one sync. Where the answer is lost, or is an error, some of the messages may be in
// the stream: who hands them over again gives them the same keys (NewMessage::key), and the consumer
// can tell.
//
// Who may connect is for the socket's owner and mode to say. A client that sends what it must not, or
// stops in the middle, is dropped; nobody else notices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "quarry/spool/retry_delay.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Bytes of one request: the messages, 10 bytes for each of them, and 4.
inline constexpr std::size_t kMaxHandOver = std::size_t{16} << 20;

struct HandOverOptions {
  /// Connections at the same time; others wait to be accepted.
  std::size_t max_clients = 64;
  /// Bytes of requests that are being received, of all clients together; more than kMaxHandOver.
  /// Who would pass it is not read from until there is room.
  std::size_t max_request_bytes = 4 * kMaxHandOver;
  /// A request has to be whole so long after it was begun to be read, and its answer taken so long
  /// after it was sent; and so long a connection may be quiet.
  milliseconds time_out{10000};
};

/// Serves clients in a thread of its own.
class HandOverServer {
 public:
  /// Serves those who connect to LISTENER, a non-blocking Unix socket (base::listen_on), until it is
  /// stopped. STREAM is not owned, and must outlive it. REPORTER is told of clients that are dropped,
  /// in the server's thread. Errors: kInvalid (OPTIONS), kIo.
  static base::Result<std::unique_ptr<HandOverServer>> start(Stream& stream, base::Fd listener,
                                                             Reporter reporter,
                                                             const HandOverOptions& options = {});
  /// Stops. A request that was not answered by then is not acknowledged.
  ~HandOverServer();
  HandOverServer(const HandOverServer&) = delete;
  HandOverServer& operator=(const HandOverServer&) = delete;

 private:
  class Loop;
  explicit HandOverServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

/// The other end: hands messages over, with a connection for each call. Not for several threads at a
/// time.
class HandOver {
 public:
  /// SOCKET: a path. TIME_OUT: for a whole call.
  HandOver(std::string socket, milliseconds time_out)
      : socket_(std::move(socket)), time_out_(time_out) {}

  /// Hands MESSAGES over, one at least. Returns the id of the first; those of the others follow. When
  /// it returns they are on the disk. Errors: kLimit (they are too long, or too many), kNotFound
  /// (there is no such socket), kBusy (no answer in time), kIo (the connection broke), and what
  /// append() has said. But for the first two some of them may be in the stream.
  base::Result<std::uint64_t> hand_over(std::span<const NewMessage> messages) const;

 private:
  std::string socket_;
  milliseconds time_out_;
};

}  // namespace quarry::spool
