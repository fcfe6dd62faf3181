#include "child_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::master {
namespace {

constexpr std::size_t kMaxLine = 768;  // short enough for log_limit, even with the prefix
// Maximum number of bytes to read at once, so that a child that prints continuously does not delay
// other events.
constexpr std::size_t kShare = std::size_t{64} << 10;
constexpr int kLastShares = 32;

Result<base::Pipe> make_output_pipe() {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  // The child's end stays blocking, so that the child does not lose output when the pipe is full.
  if (::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK) != 0) {
    return fail_errno("cannot set up a pipe");
  }
  return pipe;
}

}  // namespace

void OutputLines::add(std::string_view bytes, const Line& line) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t size = std::min({newline, bytes.size(), limit_ - rest_.size()});
    rest_ += bytes.substr(0, size);
    bytes.remove_prefix(size);
    const bool is_whole = bytes.starts_with('\n');
    if (is_whole) bytes.remove_prefix(1);
    // A full line is kept until the next byte arrives. That byte might be the newline, which would
    // otherwise produce an empty line.
    const bool is_full = rest_.size() == limit_ && !bytes.empty();
    if (is_whole || is_full) line(std::exchange(rest_, {}));
  }
}

std::string OutputLines::take_rest() {
  return std::exchange(rest_, {});
}

Result<OutputPipes> OutputPipes::make() {
  OutputPipes pipes;
  QUARRY_TRY_ASSIGN(pipes.out, make_output_pipe());
  QUARRY_TRY_ASSIGN(pipes.err, make_output_pipe());
  return pipes;
}

void redirect_standard_streams(const OutputPipes* pipes, bool keeps_error) {
  const base::Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nowhere.get(), STDIN_FILENO);
  ::dup2(pipes != nullptr ? pipes->out.writing.get() : nowhere.get(), STDOUT_FILENO);
  if (keeps_error && pipes == nullptr) return;
  ::dup2(pipes != nullptr ? pipes->err.writing.get() : nowhere.get(), STDERR_FILENO);
}

ChildOutput::ChildOutput(event_base* base, std::string label, CaughtOutput caught)
    : label_(std::move(label)),
      decorated_(caught.is_decorated),
      streams_{Stream(base, *this, "stdout", std::move(caught.out)),
               Stream(base, *this, "stderr", std::move(caught.err))} {}

CaughtOutput ChildOutput::hand_over() const {
  return {streams_[0].hand_over(), streams_[1].hand_over(), decorated_};
}

void ChildOutput::finish() {
  for (Stream& stream : streams_) {
    // Read at most the capacity of a pipe, because another process might still be writing to it.
    for (int share = 0; share < kLastShares && stream.read(); ++share) {
    }
    stream.close();
  }
}

ChildOutput::Stream::Stream(event_base* base, const ChildOutput& owner, std::string_view name,
                            CaughtStream caught)
    : owner_(owner), name_(name), fd_(std::move(caught.fd)), lines_(kMaxLine) {
  if (!fd_) return;
  lines_.add(caught.rest, [this](std::string_view line) { log_line(line, false); });
  event_ = base::Event(base, fd_.get(), EV_READ | EV_PERSIST, [this] { read(); });
  event_.wait();
}

CaughtStream ChildOutput::Stream::hand_over() const {
  if (!fd_) return {};
  return {base::Fd(fd_.get()), lines_.rest()};
}

bool ChildOutput::Stream::read() {
  std::array<char, 8192> buffer;
  for (std::size_t total = 0; total < kShare;) {
    const ssize_t size = fd_ ? ::read(fd_.get(), buffer.data(), buffer.size()) : 0;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    if (size <= 0) {
      close();
      return false;
    }
    lines_.add({buffer.data(), static_cast<std::size_t>(size)},
               [this](std::string_view line) { log_line(line, false); });
    total += static_cast<std::size_t>(size);
  }
  return true;
}

void ChildOutput::Stream::close() {
  if (!fd_) return;
  if (const std::string rest = lines_.take_rest(); !rest.empty()) log_line(rest, true);
  event_.stop_waiting();
  fd_.reset();
}

void ChildOutput::Stream::log_line(std::string_view line, bool is_last) const {
  const auto logged = base::parse_logged(line);
  if (owner_.decorated_ && logged) {
    return base::log(logged->level, "{}: {}", owner_.label_,
                     base::printable_message(logged->message, 4 * kMaxLine));
  }
  const std::string safe = base::printable_message(line, 4 * kMaxLine);
  if (!owner_.decorated_) return base::log_bare(base::LogLevel::kWarning, safe);
  base::log(base::LogLevel::kWarning, "{} said into {}: \"{}\"{}", owner_.label_, name_, safe,
            is_last ? ", pipe is closed" : "");
}

}  // namespace quarry::master
