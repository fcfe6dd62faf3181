// Where a worker's connections come from: its own accept() on the pool's listening socket, which
// all workers share and which therefore never blocks, and connections that the web server keeps
// open.
//
// Kept connections do not pin the worker: it waits for all of them and for new ones at once, and
// serves whichever speaks first.
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
  bool is_watched = false;  // kept before: the acceptor waits for it already
};

class Acceptor {
 public:
  /// LISTENER, STOP (readable when the worker has to end) and MASTER (its end means the same) stay
  /// the caller's. ALLOWED: peers of a TCP listener, empty for loopback alone. Errors: kIo.
  static base::Result<Acceptor> create(int listener, int stop, int master,
                                       std::vector<base::SocketAddress> allowed);

  /// FD, too, ends a wait, whenever it is readable. Errors: kIo.
  base::Result<void> wake_on(int fd);

  /// TELL is called each time that accept() has returned: with whether it brought a connection that
  /// is to be served. Who is not allowed to connect never makes the worker busy.
  void on_return(std::function<void(bool)> callback) { on_return_ = std::move(callback); }

  /// Once: WORK is called when nobody has come for a moment.
  void when_idle(std::function<void()> work) { idle_work_ = std::move(work); }

  /// Waits for a connection that has something to read, or a new one; nothing when it is time to
  /// end, or when it was woken.
  std::optional<Connection> next();
  // Before the worker ends by itself or after SIGQUIT. From the first call on, keep() keeps
  // nothing.

  /// One of the kept connections on which a request waits, which would be lost with it.
  std::optional<Connection> last_kept();
  /// A new connection that waits. The kernel may have woken this worker for it, and wakes no other
  /// for the same one: never for one that was BUSY until now, and has not heard of it before.
  std::optional<Connection> last_new(bool was_busy);
  /// Whether next() returned nothing although it is not time to end.
  bool was_woken() const { return was_woken_; }
  /// Takes back a connection whose request was answered and that the web server keeps open. Closes
  /// it where too many are kept, or the worker ends.
  void keep(Connection connection);
  /// CONNECTION is somebody else's now, who has it open beyond its end here.
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
