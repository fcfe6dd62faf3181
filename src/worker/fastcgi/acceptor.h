// Waits for connections to a worker: new ones on the pool's listening socket, which all workers
// share and which is non-blocking for that reason, and those that the web server keeps open.
//
// A kept connection does not occupy the worker, which waits for all kept and new connections
// together and serves whichever becomes readable first.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::worker {

struct Connection {
  base::Fd fd;
  bool is_watched = false;  // kept open before: already registered with epoll
};

class Acceptor {
 public:
  /// LISTENER, STOP (readable when the worker has to exit) and MASTER (closed when the master
  /// exits) are not owned. ALLOWED are the peers of a TCP listener; empty means loopback only.
  /// Errors: kIo.
  static base::Result<Acceptor> create(int listener, int stop, int master,
                                       std::vector<base::SocketAddress> allowed);

  /// Makes next() also return when FD is readable. Errors: kIo.
  base::Result<void> wake_on(int fd);

  /// Calls CALLBACK each time accept() returns. Its argument says whether there is a connection to
  /// serve. A peer that may not connect never makes the worker busy.
  void on_return(std::function<void(bool)> callback) { on_return_ = std::move(callback); }

  /// Calls WORK once, after there has been no connection for a while.
  void when_idle(std::function<void()> work) { idle_work_ = std::move(work); }

  /// Waits for a readable or new connection. Returns nullopt if the worker has to exit or was
  /// woken.
  std::optional<Connection> next();
  // The following functions are for a worker that is about to exit, by itself or after SIGQUIT.
  // After the first of these calls, keep() closes connections.

  /// Returns a kept connection with a pending request, which would otherwise be lost.
  std::optional<Connection> last_kept();
  /// Returns a pending new connection. The kernel may have woken only this worker for it, so the
  /// worker must not exit without serving it. Returns nullopt if the worker WAS_BUSY and has no
  /// such event, because it was not woken then.
  std::optional<Connection> last_new(bool was_busy);
  /// Returns whether next() returned nullopt because of wake_on().
  bool was_woken() const { return was_woken_; }
  /// Takes back a connection after a request if the web server keeps it open. Closes it if too many
  /// are kept, or the worker is about to exit.
  void keep(Connection connection);
  /// Stops watching CONNECTION, which another process still has open after it is closed here.
  void forget(const Connection& connection);

 private:
  Acceptor() = default;
  base::Result<void> watch(int fd, std::uint32_t events);
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
