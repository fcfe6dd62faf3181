// Appends log lines to a file.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "line_sender.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::courier {
namespace {

class FileLineSender final : public LineSender {
 public:
  explicit FileLineSender(const DestinationOptions& options) : path_(options.path) {}

  LineDelivery send(std::span<const LogLine> lines) override {
    constexpr mode_t kMode = 0640;
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (!file_) file_.reset(::open(path_.c_str(), kFlags, kMode));
    if (!file_) return {.error = fail_errno("cannot open {}", path_).error().message};
    std::string text;
    std::vector<std::size_t> ends;
    for (const LogLine& line : lines) {
      text.append(line.text).append("\n");
      ends.push_back(text.size());
    }
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) return {.delivered = lines.size()};
    LineDelivery result{.error = fail_errno("cannot write to {}", path_).error().message};
    if (written <= 0) return result;
    const auto size = static_cast<std::size_t>(written);
    const auto end = std::ranges::upper_bound(ends, size);
    result.delivered = static_cast<std::size_t>(end - ends.begin());
    const std::size_t whole = end == ends.begin() ? 0 : *(end - 1);
    struct stat status {};
    // Remove an incomplete line, because the whole line will be written again.
    if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode)) {
      (void)!::ftruncate(file_.get(), status.st_size - static_cast<off_t>(size - whole));
    }
    return result;
  }

  void reopen() override { file_.reset(); }

 private:
  std::string path_;
  base::Fd file_;
};

}  // namespace

std::unique_ptr<LineSender> make_file_line_sender(const DestinationOptions& options) {
  return std::make_unique<FileLineSender>(options);
}

}  // namespace quarry::courier
