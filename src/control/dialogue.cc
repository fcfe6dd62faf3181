#include "dialogue.h"

#include <fmt/core.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"

namespace quarry::control {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Maximum size of an answer, a hundred times the answer of a master with 1,000 children.
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;

std::unexpected<Error> failed(const Listening& server, const std::string& path) {
  const std::string place = base::printable(path);
  switch (errno) {
    case ENOENT:
      return fail(ErrorCode::kNotFound,
                  "{} does not exist: {} is not running, or its {} is elsewhere", place,
                  server.program, server.directive);
    case ECONNREFUSED:
      return fail(ErrorCode::kNotFound, "nothing listens on {}: {} is not running", place,
                  server.program);
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kDenied,
                  "permission denied: only root and the user that {} was started as can use {}",
                  server.program, place);
    case EAGAIN:
      return fail(ErrorCode::kBusy, "the {} that listens on {} does not answer", server.program,
                  place);
    default:
      return fail_errno("cannot query {}", place);
  }
}

/// Sets the timeouts of FD to the remaining time until END.
void let_wait_until(const base::Fd& fd, steady_clock::time_point end) {
  const auto left = std::chrono::duration_cast<microseconds>(end - steady_clock::now()).count();
  // Wait at least one microsecond, because 0 would disable the timeout.
  const std::int64_t wait = std::max<std::int64_t>(left, 1);
  const timeval time{wait / 1000000, wait % 1000000};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

Result<std::string> ask_once(const Listening& server, const base::SocketAddress& address,
                             std::string_view line, steady_clock::time_point end, base::Fd* kept) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot create a socket");
  let_wait_until(fd, end);
  if (::connect(fd.get(), address.get(), address.size()) != 0) {
    return failed(server, address.path());
  }
  const std::string sent = fmt::format("{}\n", line);
  // Read the answer even after EPIPE. A server that refuses a client sends an answer, and closes
  // the connection without reading the question.
  for (std::size_t done = 0; done < sent.size();) {
    const ssize_t size = ::send(fd.get(), sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EPIPE) break;
    if (size < 0) return failed(server, address.path());
    done += static_cast<std::size_t>(size);
  }
  std::string answer;
  std::array<char, 65536> bytes;
  for (;;) {
    let_wait_until(fd, end);
    const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != ECONNRESET) return failed(server, address.path());
    if (size <= 0) return answer;
    answer.append(bytes.data(), static_cast<std::size_t>(size));
    if (kept != nullptr && answer.ends_with('\n')) {
      *kept = std::move(fd);
      return answer;
    }
    if (answer.size() > kMaxAnswer) {
      return fail(ErrorCode::kLimit, "the reply from {} is too long",
                  base::printable(address.path()));
    }
  }
}

}  // namespace

Result<std::string> converse(const Listening& server, const base::SocketAddress& address,
                             std::string_view line, steady_clock::time_point end, base::Fd* kept) {
  for (int tries_left = 2; tries_left > 0; --tries_left) {
    QUARRY_TRY_ASSIGN(std::string answer, ask_once(server, address, line, end, kept));
    if (answer.ends_with('\n')) return answer;
  }
  return fail(ErrorCode::kIo, "the {} that listens on {} closed the connection before it answered",
              server.program, base::printable(address.path()));
}

}  // namespace quarry::control
