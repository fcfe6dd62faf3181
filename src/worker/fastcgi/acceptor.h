// Waits for connections to a worker: new ones on the pool's listening socket, which all workers
// share and which is therefore non-blocking, and those that the web server keeps open.
//
// A kept connection does not occupy the worker: it waits for all of them and for new ones together,
// and serves whichever becomes readable first.
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
  /// exits) are not owned. ALLOWED: peers of a TCP listener, empty for loopback only. Errors: kIo.
  static base::Result<Acceptor> create(int listener, int stop, int master,
                                       std::vector<base::SocketAddress> allowed);

  /// Also ends a wait whenever FD is readable. Errors: kIo.
  base::Result<void> wake_on(int fd);

  /// Calls CALLBACK each time accept() returns, with whether there is a connection to serve. A peer
  /// that may not connect never makes the worker busy.
  void on_return(std::function<void(bool)> callback) { on_return_ = std::move(callback); }

  /// Calls WORK once, as soon as there has been no connection for a while.
  void when_idle(std::function<void()> work) { idle_work_ = std::move(work); }

  /// Waits for a readable or new connection; nullopt if the worker has to exit or was woken.
  std::optional<Connection> next();
  // For a worker about to exit, by itself or after SIGQUIT. After the first of these calls, keep()
  // closes connections.

  /// A kept connection with a pending request, which would otherwise be lost.
  std::optional<Connection> last_kept();
  /// A pending new connection. The kernel may have woken only this worker for it, so that the
  /// worker must not exit without serving it. Nullopt for a worker that WAS_BUSY and has no such
  /// event, since it was not woken.
  std::optional<Connection> last_new(bool was_busy);
  /// Whether next() returned nullopt because of wake_on().
  bool was_woken() const { return was_woken_; }
  /// Takes back a connection after a request if the web server keeps it open. Closes it if too many
  /// are kept, or the worker is about to exit.
  void keep(Connection connection);
  /// Stops watching CONNECTION, which another process has open after it is closed here.
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
