#include "quarry/base/log_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>
#include <system_error>

namespace quarry::base {
namespace {

mode_t type_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

}  // namespace

LogStream::LogStream(Fd fd) : fd_(std::move(fd)) {
  classify();
}

Result<LogStream> LogStream::of_standard_error() {
  Fd fd;
  const mode_t type = type_of(STDERR_FILENO);
  if (type == S_IFIFO || type == S_IFCHR) {
    // Open the link instead of duplicating the descriptor: the O_NONBLOCK flag then does not affect
    // other users of standard error.
    fd.reset(::open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  // Use a duplicate, because children redirect standard error.
  if (!fd) fd.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!fd) return fail_errno("cannot log to standard error");
  return LogStream(std::move(fd));
}

void LogStream::classify() {
  const mode_t type = type_of(fd_.get());
  kind_ = type == S_IFSOCK                     ? Kind::kSocket
          : type == S_IFIFO || type == S_IFCHR ? Kind::kStream
                                               : Kind::kFile;
  is_blocking_ = (::fcntl(fd_.get(), F_GETFL) & O_NONBLOCK) == 0;
}

Result<void> LogStream::replace(const Fd& fresh) {
  // Keep the number of the descriptor, because children and libraries might use it.
  if (::dup3(fresh.get(), fd_.get(), O_CLOEXEC) < 0) return fail_errno("cannot reopen a log");
  classify();
  return {};
}

/// Returns whether a pipe or terminal accepts SIZE bytes in a single write. If not, sets errno.
bool LogStream::has_room(std::size_t size) const {
  pollfd stream{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
  if (is_blocking_ && ::poll(&stream, 1, 0) != 1) {
    errno = EAGAIN;
    return false;
  }
  // The kernel never splits such a write to a pipe.
  if (size <= PIPE_BUF) return true;
  const int capacity = ::fcntl(fd_.get(), F_GETPIPE_SZ);
  int queued = 0;
  if (capacity < 0 || ::ioctl(fd_.get(), FIONREAD, &queued) != 0) return true;
  const std::size_t wanted = size + std::size_t{4} * PIPE_BUF;
  errno = wanted > static_cast<std::size_t>(capacity) ? EMSGSIZE : EAGAIN;
  // A pipe is a ring of pages, which can be half empty.
  return 2 * static_cast<std::size_t>(queued) + wanted <= static_cast<std::size_t>(capacity);
}

bool LogStream::write(std::string_view bytes) const {
  if (kind_ == Kind::kStream && !has_room(bytes.size())) return false;
  errno = kind_ == Kind::kFile ? ENOSPC : EAGAIN;  // in case only a part is written
  const ssize_t size = kind_ == Kind::kSocket ? ::send(fd_.get(), bytes.data(), bytes.size(),
                                                       MSG_DONTWAIT | MSG_NOSIGNAL)
                                              : ::write(fd_.get(), bytes.data(), bytes.size());
  return size == static_cast<ssize_t>(bytes.size());
}

Result<LostLines> LostLines::make(Fd earlier) {
  struct stat status {};
  const bool is_continued = earlier && ::fstat(earlier.get(), &status) == 0 &&
                            status.st_size == static_cast<off_t>(sizeof(Counts));
  Fd file = is_continued ? std::move(earlier) : Fd(::memfd_create("lost-log-lines", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), sizeof(Counts)) != 0) {
    return fail_errno("cannot create memory for the log");
  }
  void* const memory =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail_errno("cannot map memory for the log");
  LostLines made;
  made.counts_ = {is_continued ? static_cast<Counts*>(memory) : new (memory) Counts,
                  [](Counts* counts) { ::munmap(counts, sizeof(Counts)); }};
  made.memory_ = std::make_shared<Fd>(std::move(file));
  return made;
}

void LostLines::add(int cause) const {
  if (!counts_) return;
  counts_->all += 1;
  counts_->unreported += 1;
  counts_->cause = cause;
}

std::string LostLines::cause() const {
  const int cause = counts_ ? counts_->cause.load() : 0;
  if (cause == EAGAIN) return "its reader does not keep up";
  if (cause == EMSGSIZE) return "a line is longer than its pipe or socket can hold";
  return std::generic_category().message(cause);
}

std::uint64_t LostLines::take_unreported() const {
  if (!counts_ || counts_->unreported.load(std::memory_order_relaxed) == 0) return 0;
  const std::int64_t now = std::time(nullptr);
  if (counts_->reported_at.exchange(now) == now) return 0;
  return counts_->unreported.exchange(0);
}

}  // namespace quarry::base
