#include "held_texts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "temporary_files.h"

namespace quarry::repository {
namespace {

constexpr const char* kFile = "a temporary file";

[[noreturn]] void fail(int error) {
  throw cannot_write_temporary(error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR, kFile,
                               std::strerror(error));
}

int open_unnamed() {
  std::string pattern = temporary_folder() / "quarry-texts-XXXXXX";
  const int fd = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (fd < 0) fail(errno);
  ::unlink(pattern.c_str());
  return fd;
}

}  // namespace

HeldTexts::~HeldTexts() {
  clear();
}

void HeldTexts::clear() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  in_file_ = 0;
  memory_.clear();
  memory_.shrink_to_fit();
}

HeldTexts::Span HeldTexts::add(std::string_view text) {
  if (!memory_.empty() && memory_.size() + text.size() > limit_) write_out();
  const Span span{size(), static_cast<std::uint32_t>(text.size())};
  memory_.append(text);
  return span;
}

void HeldTexts::write_out() {
  if (fd_ < 0) fd_ = open_unnamed();
  std::string_view rest = memory_;
  while (!rest.empty()) {
    const ssize_t written =
        ::pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(size() - rest.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written < 0 ? errno : ENOSPC);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  in_file_ += memory_.size();
  memory_.clear();
}

std::string HeldTexts::get(Span span) const {
  if (span.begin >= in_file_) return memory_.substr(span.begin - in_file_, span.size);
  std::string text(span.size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t read =
        ::pread(fd_, text.data() + done, text.size() - done, static_cast<off_t>(span.begin + done));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) throw cannot_read_temporary(kFile, read < 0 ? std::strerror(errno) : "it ends");
    done += static_cast<std::size_t>(read);
  }
  return text;
}

}  // namespace quarry::repository
