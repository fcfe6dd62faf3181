#include "fastcgi_client.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "quarry/base/passed_connections.h"

namespace quarry::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{50};
/// Maximum number of bytes of a page to read at once. This number is small, because these bytes are
/// buffered for each client that reads slowly.
constexpr std::size_t kMaxReadOfPage = std::size_t{32} << 10;

std::string errno_text(std::string_view what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

/// Returns the buffer for received data. All calls in the thread share the buffer, because records
/// are parsed immediately.
std::array<char, std::size_t{256} * 1024>& read_buffer() {
  thread_local std::array<char, std::size_t{256} * 1024> buffer;
  return buffer;
}

}  // namespace

FastcgiCall::FastcgiCall(event_base* base, const Destination& destination,
                         const GatewayOptions& options, base::EventBufferPtr request, More more,
                         Done done)
    : base_(base),
      destination_(destination),
      options_(options),
      request_(std::move(request)),
      more_(std::move(more)),
      done_(std::move(done)),
      reply_(evbuffer_new()),
      pause_(kFirstPause) {}

void FastcgiCall::start() {
  connect_deadline_ = steady_clock::now() + options_.connect_timeout;
  connect();
}

void FastcgiCall::pause() {
  // Pause only replies of the page server, and only after the request has been sent completely.
  if (destination_.address != nullptr || watched_ != EV_READ) return;
  is_paused_ = true;
  event_del(event_.get());
}

void FastcgiCall::resume() {
  if (std::exchange(is_paused_, false)) watch(EV_READ, options_.pool_timeout);
}

void FastcgiCall::watch(short what, milliseconds timeout) {
  // Change the event only if necessary, because each change is a system call.
  if (!event_ || watched_ != what) {
    event_.reset(event_new(
        base_, what == 0 ? -1 : socket_.get(),
        static_cast<short>(what == 0 ? 0 : what | EV_PERSIST),
        [](evutil_socket_t, short happened, void* self) {
          static_cast<FastcgiCall*>(self)->on_event(happened);
        },
        this));
    watched_ = what;
  }
  const timeval time = base::to_timeval(timeout);
  event_add(event_.get(), &time);
}

bool FastcgiCall::try_to_connect() {
  if (destination_.address == nullptr) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
      return false;
    }
    socket_.reset(ends[0]);
    const base::Fd other(ends[1]);
    return base::pass_connection(destination_.passing, other.get());
  }
  socket_.reset(
      ::socket(destination_.address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return false;
  if (destination_.address->family() != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return ::connect(socket_.get(), destination_.address->get(), destination_.address->size()) == 0;
}

void FastcgiCall::connect() {
  event_.reset();
  if (try_to_connect()) return connected();
  const auto left =
      std::chrono::duration_cast<milliseconds>(connect_deadline_ - steady_clock::now());
  if (errno == EINPROGRESS) return watch(EV_WRITE, std::max(left, milliseconds{1}));
  if (errno != EAGAIN) {
    return finish_later(Outcome::kUnreachable,
                        errno_text(fmt::format("cannot connect to {}", destination_.str())));
  }
  if (left <= milliseconds::zero()) {
    return finish_later(Outcome::kTimeout,
                        fmt::format("the backlog of {} is full", destination_.str()));
  }
  watch(0, std::min(pause_, left));
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void FastcgiCall::connected() {
  stage_ = Stage::kTalking;
  const bool all = send();
  watch(all ? EV_READ : EV_READ | EV_WRITE, options_.pool_timeout);
}

bool FastcgiCall::send() {
  while (evbuffer_get_length(request_.get()) > 0) {
    if (evbuffer_write(request_.get(), socket_.get()) > 0) continue;
    if (errno == EAGAIN) return false;
    if (errno == EINTR) continue;
    // The pool does not read the rest of the request, but might still reply. Drop the rest and wait
    // for the reply.
    evbuffer_drain(request_.get(), evbuffer_get_length(request_.get()));
  }
  return true;
}

void FastcgiCall::on_event(short what) {
  switch (stage_) {
    case Stage::kConnecting: {
      if ((what & EV_WRITE) == 0) {
        if (watched_ == 0) return connect();
        return finish(Outcome::kTimeout,
                      fmt::format("timed out connecting to {}", destination_.str()));
      }
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) return connected();
      errno = error;
      return finish(Outcome::kUnreachable,
                    errno_text(fmt::format("cannot connect to {}", destination_.str())));
    }
    case Stage::kTalking:
      if ((what & EV_TIMEOUT) != 0)
        return finish(Outcome::kTimeout, "timed out waiting for its reply");
      if ((what & EV_WRITE) != 0 && send()) watch(EV_READ, options_.pool_timeout);
      if ((what & EV_READ) != 0) on_readable();
      return;
    case Stage::kFinishing:
      return finish(outcome_, std::move(error_));
  }
}

void FastcgiCall::on_readable() {
  auto& buffer = read_buffer();
  const std::size_t limit = destination_.address == nullptr ? kMaxReadOfPage : buffer.size();
  const ssize_t size = ::read(socket_.get(), buffer.data(), limit);
  if (size > 0) return take({buffer.data(), static_cast<std::size_t>(size)});
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size < 0) return finish(Outcome::kBadReply, errno_text("cannot read its reply"));
  finish(Outcome::kBadReply, "it closed the connection before its reply was complete");
}

void FastcgiCall::take(std::string_view bytes) {
  const std::size_t before = evbuffer_get_length(reply_.get());
  const ReplyReader::Status status = reader_.feed(bytes, reply_.get(), error_output_);
  received_ += evbuffer_get_length(reply_.get()) - before;
  if (received_ > options_.max_reply) {
    return finish(Outcome::kBadReply,
                  fmt::format("its reply exceeds the limit of {} bytes", options_.max_reply));
  }
  switch (status) {
    case ReplyReader::Status::kMore: {
      // The function might destroy this object and thus more_, so call a copy.
      const More more = more_;
      return more();
    }
    case ReplyReader::Status::kBad:
      return finish(Outcome::kBadReply, reader_.error());
    case ReplyReader::Status::kEnd:
      if (reader_.protocol_status() == FCGI_REQUEST_COMPLETE) return finish(Outcome::kReplied);
      return finish(Outcome::kBadReply, fmt::format("it refused the request (FastCGI status {})",
                                                    reader_.protocol_status()));
  }
}

void FastcgiCall::finish(Outcome outcome, std::string error) {
  error_ = std::move(error);
  event_.reset();
  socket_.reset();
  // The function might destroy this object and thus done_, so move the function first.
  const Done done = std::move(done_);
  done(outcome);
}

void FastcgiCall::finish_later(Outcome outcome, std::string error) {
  stage_ = Stage::kFinishing;
  outcome_ = outcome;
  error_ = std::move(error);
  watch(0, milliseconds::zero());
}

}  // namespace quarry::gateway
