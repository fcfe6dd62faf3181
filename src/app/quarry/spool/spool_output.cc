#include "spool_output.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "quarry/base/socket.h"

namespace quarry::app {
namespace {

/// Returns the number of unread bytes, or -1 if it is unknown.
int unread_in_pipe(int fd) {
  int count = 0;
  return ::ioctl(fd, FIONREAD, &count) == 0 ? count : -1;
}

int unread_in_socket(int fd) {
  const auto count = static_cast<int>(base::unacknowledged(fd));
  // POLLERR means that the reader has closed the socket without reading everything. COUNT is then
  // not valid, because the kernel has discarded the unread data.
  pollfd now{fd, 0, 0};
  ::poll(&now, 1, 0);
  return (now.revents & POLLERR) == 0 ? count : -1;
}

}  // namespace

SpoolOutput::SpoolOutput(int fd, bool is_synced) : fd_(fd), is_synced_(is_synced) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return;
  if (S_ISFIFO(status.st_mode)) kind_ = Kind::kPipe;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::kSocket;
  if (S_ISREG(status.st_mode)) kind_ = Kind::kFile;
}

Result<std::uint64_t> SpoolOutput::taken(std::uint64_t written) {
  if (written == taken_) return taken_;
  if (!has_reader()) {
    if (kind_ == Kind::kFile && is_synced_ && ::fdatasync(fd_) != 0) {
      return fail_errno("standard output");
    }
    return taken_ = written;
  }
  // If a write to a socket has failed, the amount of unread data is unknown. The kernel reports
  // only once that the reader has closed the socket, and the failed write might have consumed this
  // report.
  if (has_failed_ && kind_ == Kind::kSocket) return taken_;
  const int unread = kind_ == Kind::kPipe ? unread_in_pipe(fd_) : unread_in_socket(fd_);
  if (unread < 0) return taken_;
  // Unread data can also come from other processes, so it can be more than WRITTEN.
  const std::uint64_t left = std::min(written, static_cast<std::uint64_t>(unread));
  return taken_ = std::max(taken_, written - left);
}

}  // namespace quarry::app
