#include "quarry/changes/triggers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace quarry::changes {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, kTriggers> kFiles = {"prequeue_fifo", "queue_fifo",
                                                            "exec_fifo"};

/// Opens a FIFO. Returns an empty Fd if the FIFO does not exist, or if FLAGS open it for writing
/// and no process reads from it.
base::Fd open_fifo(const fs::path& path, int flags) {
  base::Fd fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (fd && (::fstat(fd.get(), &status) != 0 || !S_ISFIFO(status.st_mode))) {
    fd.reset();
    errno = EEXIST;
  }
  return fd;
}

}  // namespace

std::string_view file_of(Trigger trigger) {
  return kFiles[static_cast<std::size_t>(trigger)];
}

Result<void> make_trigger(const fs::path& ctrl, Trigger trigger) {
  const fs::path path = ctrl / file_of(trigger);
  if (::mkfifo(path.c_str(), 0600) == 0 || errno == EEXIST) return {};
  return fail_errno(path.string() + ": cannot create a FIFO");
}

void pull(const fs::path& ctrl, Trigger trigger) {
  const base::Fd fd = open_fifo(ctrl / file_of(trigger), O_WRONLY);
  // Ignore errors: if the FIFO is full, the daemon has already been woken.
  if (fd) [[maybe_unused]]
    const auto written = ::write(fd.get(), "!", 1);
}

Result<base::Fd> listen(const fs::path& ctrl, Trigger trigger) {
  QUARRY_TRY(make_trigger(ctrl, trigger));
  // The FIFO is opened for reading and writing, so that it never reports the end of the file.
  base::Fd fd = open_fifo(ctrl / file_of(trigger), O_RDWR);
  if (fd) return fd;
  return fail_errno((ctrl / file_of(trigger)).string() + ": not a readable FIFO");
}

void drain(const base::Fd& fd) {
  std::array<char, 512> bytes{};
  while (::read(fd.get(), bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace quarry::changes
