#include "acceptor.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <span>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/socket.h"
#include "stop_signal.h"

namespace quarry::worker {
namespace {

constexpr std::size_t kMaxKept = 64;
// Time without connections after which idle work starts, in milliseconds. If idle work started
// sooner, it could disturb other programs on the same files: after a checkpoint, a `fossil commit`
// that has just begun has to start again.
constexpr int kIdleMillis = 5000;

/// Returns whether descriptors or memory are exhausted. In that case, an immediate retry would only
/// waste processor time.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void pause_briefly() {
  const timespec wait{0, 50'000'000};
  ::nanosleep(&wait, nullptr);
}

}  // namespace

Result<Acceptor> Acceptor::create(int listener, int stop, int master,
                                  std::vector<base::SocketAddress> allowed) {
  Acceptor acceptor;
  acceptor.listener_ = listener;
  acceptor.stop_ = stop;
  acceptor.master_ = master;
  acceptor.allowed_ = std::move(allowed);
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&local), &size) != 0) {
    return fail_errno("cannot get the address of the listening socket");
  }
  acceptor.is_tcp_ = local.ss_family != AF_UNIX;
  acceptor.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!acceptor.epoll_) return fail_errno("cannot create an epoll descriptor");
  // With EPOLLEXCLUSIVE, a connection wakes only one worker.
  QUARRY_TRY(acceptor.watch(listener, EPOLLIN | EPOLLEXCLUSIVE));
  QUARRY_TRY(acceptor.watch(stop, EPOLLIN));
  // Do not watch for EPOLLIN, because SIGUSR1 wakes the worker when the master sends reopened logs.
  if (master >= 0) QUARRY_TRY(acceptor.watch(master, EPOLLRDHUP));
  return acceptor;
}

Result<void> Acceptor::watch(int fd, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) == 0) return {};
  return fail_errno("cannot watch a descriptor");
}

Result<void> Acceptor::wake_on(int fd) {
  wake_ = fd;
  return watch(fd, EPOLLIN);
}

std::optional<Connection> Acceptor::next() {
  was_woken_ = false;
  // Call accept() before epoll_wait(), to save a system call if a connection is pending. Workers of
  // an ondemand pool also have to try accept() first, without waiting.
  if (kept_.empty() && !stop_requested()) {
    if (auto connection = accept_one()) return connection;
  }
  while (!stop_requested() && !has_ended_) {
    if (events_left_ == 0) {
      const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()),
                                     idle_work_ ? kIdleMillis : -1);
      if (count < 0 && errno != EINTR) return std::nullopt;
      if (count == 0 && idle_work_) std::exchange(idle_work_, nullptr)();
      events_left_ = static_cast<std::size_t>(std::max(count, 0));
      continue;
    }
    const int fd = events_[--events_left_].data.fd;
    if (auto connection = take(fd)) return connection;
    if (was_woken_) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Connection> Acceptor::last_kept() {
  is_ending_ = true;
  while (!stop_now_requested() && !has_ended_ && !kept_.empty()) {
    auto kept = kept_.extract(kept_.begin());
    pollfd waiting{kept.key(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) == 1) return Connection{std::move(kept.mapped()), true};
  }
  return std::nullopt;
}

std::optional<Connection> Acceptor::last_new(bool was_busy) {
  is_ending_ = true;
  if (stop_now_requested() || has_ended_) return std::nullopt;
  const auto pending = std::span(events_).first(events_left_);
  const auto is_of_new = [this](const epoll_event& event) { return event.data.fd == listener_; };
  if (was_busy && std::ranges::none_of(pending, is_of_new)) return std::nullopt;
  return accept_one();
}

std::optional<Connection> Acceptor::take(int fd) {
  if (fd == listener_) return accept_one();
  if (fd == master_) {
    // The channel is closed, so the master has exited.
    has_ended_ = true;
    return std::nullopt;
  }
  was_woken_ = fd == wake_;
  const auto kept = kept_.find(fd);
  if (kept == kept_.end()) return std::nullopt;
  Connection connection{std::move(kept->second), true};
  kept_.erase(kept);
  return connection;
}

std::optional<Connection> Acceptor::accept_one() {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  Connection connection{base::Fd(
      ::accept4(listener_, is_tcp_ ? address : nullptr, is_tcp_ ? &size : nullptr, SOCK_CLOEXEC))};
  const int error = errno;
  const auto from =
      connection.fd && is_tcp_ ? base::SocketAddress::of(address, size) : std::nullopt;
  const bool is_welcome = connection.fd && (!is_tcp_ || (from && is_allowed(*from)));
  // Call on_return_ even after a refused connection. The master then learns that accept() has
  // returned, and that the worker still waits for a connection.
  on_return_(is_welcome);
  if (!connection.fd) {
    errno = error;
    if (is_shortage(error)) {
      base::log(base::LogLevel::kError, "cannot accept a connection: {}",
                fail_errno("accept").error().message);
      pause_briefly();
    }
    return std::nullopt;
  }
  if (!is_welcome) {
    base::log(base::LogLevel::kNotice, "connection from {} refused: not in listen.allowed_clients",
              from ? from->ip() : "unknown");
    return std::nullopt;
  }
  if (!is_tcp_) return connection;
  // Reset the timeout that TCP connections inherit from the listening socket (base/socket.h).
  const timeval none{};
  ::setsockopt(connection.fd.get(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
  return connection;
}

bool Acceptor::is_allowed(const base::SocketAddress& peer) const {
  if (allowed_.empty()) return peer.is_loopback();
  return std::ranges::any_of(
      allowed_, [&](const base::SocketAddress& allowed) { return allowed.same_ip(peer); });
}

void Acceptor::forget(const Connection& connection) {
  if (connection.is_watched) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd.get(), nullptr);
  }
}

void Acceptor::keep(Connection connection) {
  if (is_ending_ || kept_.size() >= kMaxKept) return;
  const int fd = connection.fd.get();
  if (!connection.is_watched && !watch(fd, EPOLLIN | EPOLLRDHUP)) return;
  kept_[fd] = std::move(connection.fd);
}

void Acceptor::park(Connection connection) {
  const int fd = connection.fd.get();
  if (is_ending_ || base::has_peer_left(fd)) return;
  // Use edge-triggered mode, because the part of the request that has arrived keeps the socket
  // readable.
  const int operation = connection.is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (!watch(fd, EPOLLIN | EPOLLRDHUP | EPOLLET, operation)) return;
  if (kept_.size() >= kMaxKept) kept_.erase(kept_.begin());
  kept_[fd] = std::move(connection.fd);
}

}  // namespace quarry::worker
