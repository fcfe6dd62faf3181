// Waits for connections to a worker: new connections on the pool's listening socket, and kept
// connections, which the web server keeps open. All workers share the listening socket, so it is
// non-blocking.
//
// A kept connection does not occupy the worker. The worker waits for all kept and new connections
// at the same time, and serves the first readable connection.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::worker {

struct Connection {
  base::Fd fd;
  bool is_watched = false;  // kept connection, already registered with epoll
};

class Acceptor {
 public:
  /// Creates an acceptor. LISTENER, STOP (readable when the worker has to exit) and MASTER (closed
  /// when the master exits) are not owned. ALLOWED are the peers of a TCP listener; empty means
  /// loopback only. Errors: kIo.
  static Result<Acceptor> create(int listener, int stop, int master,
                                 std::vector<base::SocketAddress> allowed);

  /// Makes next() also return when FD is readable. Errors: kIo.
  Result<void> wake_on(int fd);

  /// Sets the CALLBACK to call after each return of accept(). The argument of CALLBACK is true if
  /// the worker has to serve a connection. Refused connections never make the worker busy.
  void on_return(std::function<void(bool)> callback) { on_return_ = std::move(callback); }

  /// Sets the WORK to call once after a while without connections.
  void when_idle(std::function<void()> work) { idle_work_ = std::move(work); }

  /// Waits for a readable or new connection. Returns nullopt if the worker has to exit or was
  /// woken.
  std::optional<Connection> next();
  // The following functions are for a worker that is about to exit. After the first of these calls,
  // keep() closes connections.

  /// Returns a kept connection with a pending request. The request would be lost if the worker
  /// exited.
  std::optional<Connection> last_kept();
  /// Returns a pending new connection. The kernel might have woken only this worker for the
  /// connection, so the worker has to serve it before it exits. Returns nullopt if the worker was
  /// busy (WAS_BUSY) and the kernel has not woken it for a connection.
  std::optional<Connection> last_new(bool was_busy);
  /// Returns whether next() returned nullopt because of wake_on().
  bool was_woken() const { return was_woken_; }
  /// Takes back a connection after a request if the web server keeps it open. Closes the connection
  /// if too many are kept, or if the worker is about to exit.
  void keep(Connection connection);
  /// Takes back a connection whose request is incomplete. next() returns it when more of the request
  /// has arrived. If too many are kept, closes another one.
  void park(Connection connection);
  /// Stops watching CONNECTION, because another process keeps it open.
  void forget(const Connection& connection);

 private:
  Acceptor() = default;
  Result<void> watch(int fd, std::uint32_t events, int operation = EPOLL_CTL_ADD);
  std::optional<Connection> accept_one();
  std::optional<Connection> take(int fd);
  bool is_allowed(const base::SocketAddress& peer) const;

  base::Fd epoll_;
  int listener_ = -1;
  int stop_ = -1;
  int master_ = -1;
  int wake_ = -1;
  bool was_woken_ = false;
  bool is_tcp_ = false;
  bool has_ended_ = false;
  bool is_ending_ = false;
  std::vector<base::SocketAddress> allowed_;
  std::function<void()> idle_work_;
  std::function<void(bool)> on_return_ = [](bool) {};
  std::unordered_map<int, base::Fd> kept_;
  std::array<epoll_event, 16> events_{};
  std::size_t events_left_ = 0;
};

}  // namespace quarry::worker
