// The client of a hand-over. A call never exceeds its timeout, whatever the server does.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "hand_over_frames.h"
#include "quarry/base/socket.h"
#include "quarry/spool/hand_over.h"
#include "threading.h"

namespace quarry::spool {
namespace {

using base::ErrorCode;
using base::fail;
using base::Fd;
using base::Result;

/// A call on the socket at PATH with a deadline.
class Call {
 public:
  Call(const std::string& path, TimePoint deadline) : path_(path), deadline_(deadline) {}

  Result<void> connect();
  Result<void> send(std::string_view bytes);
  Result<std::string> receive();

 private:
  milliseconds left() const {
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline_ - now()));
  }
  Result<void> wait(short events);
  Result<void> receive(std::string& to, std::size_t size);
  std::unexpected<base::Error> too_late() const {
    return fail(ErrorCode::kBusy, path_ + ": timed out; some messages may have been stored");
  }
  std::unexpected<base::Error> broken() const {
    const int error = errno;
    return fail(ErrorCode::kIo, path_ + ": " + std::generic_category().message(error));
  }

  const std::string& path_;
  TimePoint deadline_;
  Fd fd_;
};

Result<void> Call::connect() {
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(path_));
  if (!address.is_unix()) return fail(ErrorCode::kInvalid, path_ + ": must be a path");
  fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd_) return broken();
  // connect(2) waits for a full backlog, whereas poll(2) would not report when it has room.
  const auto time = left();
  if (time.count() == 0) return too_late();
  const timeval limit{.tv_sec = static_cast<time_t>(time.count() / 1000),
                      .tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000)};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  while (::connect(fd_.get(), address.get(), address.size()) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return too_late();
    if (errno != ENOENT && errno != ECONNREFUSED) return broken();
    return fail(ErrorCode::kNotFound, path_ + ": no process accepts messages");
  }
  if (::fcntl(fd_.get(), F_SETFL, O_NONBLOCK) != 0) return broken();
  return {};
}

Result<void> Call::wait(short events) {
  pollfd one{.fd = fd_.get(), .events = events, .revents = 0};
  const auto time = left();
  const int count =
      ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(time.count(), INT_MAX)));
  if (count < 0 && errno != EINTR) return broken();
  if (count <= 0 && left().count() == 0) return too_late();
  return {};
}

Result<void> Call::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EINTR) {
      QUARRY_TRY(wait(POLLOUT));
    } else {
      return broken();
    }
  }
  return {};
}

Result<void> Call::receive(std::string& to, std::size_t size) {
  std::array<char, kMaxAnswer> buffer;
  while (to.size() < size) {
    const ssize_t count = ::recv(fd_.get(), buffer.data(), size - to.size(), 0);
    if (count > 0) {
      to.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      return fail(ErrorCode::kIo, path_ + ": the connection was closed without an answer");
    } else if (errno == EAGAIN || errno == EINTR) {
      QUARRY_TRY(wait(POLLIN));
    } else {
      return broken();
    }
  }
  return {};
}

Result<std::string> Call::receive() {
  std::string header;
  QUARRY_TRY(receive(header, kFrameHeader));
  const std::size_t length = body_length(header);
  if (length > kMaxAnswer) return fail(ErrorCode::kIo, path_ + ": the answer is too long");
  std::string body;
  QUARRY_TRY(receive(body, length));
  return body;
}

}  // namespace

Result<std::uint64_t> HandOver::hand_over(std::span<const NewMessage> messages) const {
  QUARRY_TRY_ASSIGN(const std::string request, request_frame(messages));
  Call call(socket_, after(time_out_));
  QUARRY_TRY(call.connect());
  QUARRY_TRY(call.send(request));
  QUARRY_TRY_ASSIGN(const std::string answer, call.receive());
  return decode_answer(answer);
}

}  // namespace quarry::spool
