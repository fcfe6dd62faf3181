// The client of a hand-over. The timeout applies to a whole call, even if the server misbehaves.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>

#include "hand_over_frames.h"
#include "quarry/base/socket.h"
#include "quarry/spool/hand_over.h"
#include "threading.h"

namespace quarry::spool {
namespace {

using base::Fd;

// Time for which an interrupted call waits for an answer. A call that ends without an answer is
// repeated, and receivers then get the messages twice.
constexpr milliseconds kAfterInterruption{1000};
// A signal can arrive immediately before a system call that waits, so waits must be short.
constexpr milliseconds kMaxWait{100};

/// A call on the socket at PATH with a deadline.
class Call {
 public:
  Call(const std::string& path, TimePoint deadline, const std::function<bool()>& is_interrupted)
      : path_(path), deadline_(deadline), is_interrupted_(is_interrupted) {}

  Result<void> connect() {
    QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(path_));
    if (!address.is_unix()) return fail(ErrorCode::kInvalid, path_ + ": not a path");
    fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd_) return fail_errno(path_);
    // Set a timeout for connect(2), because connect(2) waits while the backlog is full. poll(2)
    // does not report when the backlog has space.
    const timeval limit{.tv_sec = 0, .tv_usec = std::chrono::microseconds(kMaxWait).count()};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    while (::connect(fd_.get(), address.get(), address.size()) != 0) {
      if (errno == ENOENT || errno == ECONNREFUSED) {
        return fail(ErrorCode::kNotFound, path_ + ": no process accepts messages");
      }
      if (errno != EINTR && errno != EAGAIN) return fail_errno(path_);
      if (left().count() == 0) return too_late();
    }
    if (::fcntl(fd_.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(path_);
    return {};
  }

  Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) {
        QUARRY_TRY(wait_after_errno(POLLOUT));
      } else {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      }
    }
    return {};
  }

  Result<std::string> receive() {
    QUARRY_TRY_ASSIGN(const std::string header, receive(kFrameHeader));
    const std::size_t length = body_length(header);
    if (length > kMaxAnswer) return fail(ErrorCode::kIo, path_ + ": the answer is too long");
    return receive(length);
  }

 private:
  Result<std::string> receive(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = ::recv(fd_.get(), bytes.data() + done, size - done, 0);
      if (count == 0) {
        return fail(ErrorCode::kIo, path_ + ": the connection was closed without an answer");
      }
      if (count < 0) {
        QUARRY_TRY(wait_after_errno(POLLIN));
      } else {
        done += static_cast<std::size_t>(count);
      }
    }
    return bytes;
  }

  /// If errno means that a call would block, waits for EVENTS. Returns any other errno as an error.
  Result<void> wait_after_errno(short events) {
    if (errno != EAGAIN && errno != EINTR) return fail_errno(path_);
    pollfd one{.fd = fd_.get(), .events = events, .revents = 0};
    const auto time = std::min(left(), kMaxWait);
    const int count = ::poll(&one, 1, static_cast<int>(time.count()));
    if (count < 0 && errno != EINTR) return fail_errno(path_);
    return count <= 0 && left().count() == 0 ? too_late() : Result<void>{};
  }

  milliseconds left() {
    if (!was_interrupted_ && is_interrupted_ && is_interrupted_()) {
      was_interrupted_ = true;
      deadline_ = std::min(deadline_, after(kAfterInterruption));
    }
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline_ - now()));
  }
  Result<void> too_late() const {
    return fail(ErrorCode::kBusy, "{}: {}; some messages might have been stored", path_,
                was_interrupted_ ? "interrupted" : "timed out");
  }

  const std::string& path_;
  TimePoint deadline_;
  const std::function<bool()>& is_interrupted_;
  bool was_interrupted_ = false;
  Fd fd_;
};

/// Sends REQUEST over a new connection to SOCKET, and returns the answer.
Result<std::string> exchange(const std::string& socket, TimePoint deadline,
                             const std::function<bool()>& is_interrupted,
                             std::string_view request) {
  Call call(socket, deadline, is_interrupted);
  QUARRY_TRY(call.connect());
  QUARRY_TRY(call.send(request));
  return call.receive();
}

}  // namespace

Result<std::uint64_t> HandOver::hand_over(std::span<const NewMessage> messages) const {
  QUARRY_TRY_ASSIGN(const std::string request, request_frame(messages));
  const TimePoint deadline = after(time_out_);
  Result<std::string> answer = exchange(socket_, deadline, is_interrupted_, request);
  // The server might have been replaced, for example in a reload. The new one has the same socket.
  if (!answer && answer.error().code == ErrorCode::kIo) {
    answer = exchange(socket_, deadline, is_interrupted_, request);
  }
  QUARRY_TRY(answer);
  return decode_answer(*answer);
}

}  // namespace quarry::spool
