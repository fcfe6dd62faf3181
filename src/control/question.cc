#include "quarry/control/question.h"

#include <fmt/core.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"

namespace quarry::control {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Maximum size of an answer, a hundred times the answer of a master with 1,000 children.
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;

std::unexpected<Error> failed(const std::string& path) {
  const std::string place = base::printable(path);
  switch (errno) {
    case ENOENT:
      return fail(ErrorCode::kNotFound,
                  "{} does not exist: quarryd is not running, or its control.socket is elsewhere",
                  place);
    case ECONNREFUSED:
      return fail(ErrorCode::kNotFound, "nothing listens on {}: quarryd is not running", place);
    case EACCES:
    case EPERM:
      return fail(
          ErrorCode::kDenied,
          "permission denied: only root and the user that quarryd was started as can use {}",
          place);
    case EAGAIN:
      return fail(ErrorCode::kBusy, "the quarryd that listens on {} does not answer", place);
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

Result<std::string> ask_once(const base::SocketAddress& address, Question question,
                             steady_clock::time_point end) {
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot create a socket");
  let_wait_until(fd, end);
  if (::connect(fd.get(), address.get(), address.size()) != 0) return failed(address.path());
  const std::string line = fmt::format("{}\n", text_of(question));
  // Read the answer even after EPIPE. A master that refuses a client sends an answer, and closes
  // the connection without reading the question.
  if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) {
    return failed(address.path());
  }
  std::string answer;
  std::array<char, 65536> bytes;
  for (;;) {
    let_wait_until(fd, end);
    const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != ECONNRESET) return failed(address.path());
    if (size <= 0) return answer;
    answer.append(bytes.data(), static_cast<std::size_t>(size));
    if (answer.size() > kMaxAnswer) {
      return fail(ErrorCode::kLimit, "the reply from {} is too long",
                  base::printable(address.path()));
    }
  }
}

}  // namespace

std::string_view text_of(Question question) {
  return question == Question::kFullStatus ? "status full" : "status";
}

std::optional<Question> parse_question(std::string_view line) {
  for (const Question question : {Question::kStatus, Question::kFullStatus}) {
    if (line == text_of(question)) return question;
  }
  return std::nullopt;
}

Result<std::string> ask(const base::SocketAddress& address, Question question,
                        std::chrono::milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  // Try twice, because a reload of the master disconnects clients. The second attempt reaches the
  // new master.
  for (int tries_left = 2; tries_left > 0; --tries_left) {
    QUARRY_TRY_ASSIGN(std::string answer, ask_once(address, question, end));
    if (answer.ends_with('\n')) return answer;
  }
  return fail(ErrorCode::kIo,
              "the quarryd that listens on {} closed the connection before it answered",
              base::printable(address.path()));
}

}  // namespace quarry::control
