// Appends events to a file, each as one line of JSON. The file is synced before the event is
// settled. The file can also be a named pipe; the sender then waits for a slow reader up to the
// delivery timeout.

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "senders.h"

namespace quarry::courier {
namespace {

/// Returns whether the file at PATH ends in the middle of a line. Such a file is left by a writer
/// that was killed.
bool ends_in_half_a_line(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return false;
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char last = '\n';
  return file && ::pread(file.get(), &last, 1, status.st_size - 1) == 1 && last != '\n';
}

class FileSender final : public Sender {
 public:
  FileSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const char* const before = has_half_a_line_ ? "\n" : "";
    const auto done = append(before + outgoing.message.content + "\n");
    if (!done && is_interrupted_()) return {.outcome = spool::Outcome::kReturned};
    return done ? DeliveryResult{} : retry_later(done.error().message);
  }

  Result<void> finish() override {
    if (!is_dirty_ || !file_) return {};
    is_dirty_ = false;
    // Ignore EINVAL and EROFS, because pipes and similar files cannot be synced.
    if (::fdatasync(file_.get()) == 0 || errno == EINVAL || errno == EROFS) return {};
    auto error = fail_errno("cannot sync {}", options_.path);
    file_.reset();
    return error;
  }

  void reopen() override { file_.reset(); }

 private:
  Result<void> open() {
    constexpr mode_t kMode = 0640;
    // Use O_NONBLOCK, because opening a pipe without a reader would otherwise block and prevent the
    // courier from stopping.
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    file_.reset(::open(options_.path.c_str(), kFlags, kMode));
    if (!file_) return fail_errno("cannot open {}", options_.path);
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return fail_errno(options_.path);
    // If the last line is incomplete, start a new line. The interrupted event will be delivered
    // again.
    if (!ends_in_half_a_line(options_.path, status) || ::write(file_.get(), "\n", 1) == 1)
      return {};
    auto error = fail_errno("cannot write to {}", options_.path);
    file_.reset();
    return error;
  }

  /// Waits until the pipe accepts more data. Returns false after END or an interruption.
  bool wait_until_ready(std::chrono::steady_clock::time_point end) const {
    constexpr int kPollMs = 200;
    while (std::chrono::steady_clock::now() < end && !is_interrupted_()) {
      pollfd ready{file_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, kPollMs) > 0) return true;
    }
    return false;
  }

  Result<void> append(std::string_view line) {
    if (!file_) QUARRY_TRY(open());
    struct stat before {};
    if (::fstat(file_.get(), &before) != 0) return fail_errno(options_.path);
    is_dirty_ = true;
    const auto end = std::chrono::steady_clock::now() + options_.delivery_timeout();
    const std::size_t size = line.size();
    while (!line.empty()) {
      const ssize_t written = ::write(file_.get(), line.data(), line.size());
      if (written > 0) line.remove_prefix(static_cast<std::size_t>(written));
      if (written > 0 || (written < 0 && errno == EINTR)) continue;
      if (written < 0 && errno == EAGAIN && wait_until_ready(end)) continue;
      auto error = fail_errno("cannot write to {}", options_.path);
      if (line.size() < size && ::ftruncate(file_.get(), before.st_size) != 0) {
        has_half_a_line_ = true;
        file_.reset();
      }
      return error;
    }
    has_half_a_line_ = false;
    return {};
  }

  DestinationOptions options_;
  Interrupted is_interrupted_;
  base::Fd file_;
  bool is_dirty_ = false;
  bool has_half_a_line_ = false;  // a partial line was written to a pipe, and cannot be removed
};

}  // namespace

std::unique_ptr<Sender> make_file_sender(const DestinationOptions& options,
                                         Interrupted is_interrupted) {
  return std::make_unique<FileSender>(options, std::move(is_interrupted));
}

}  // namespace quarry::courier
