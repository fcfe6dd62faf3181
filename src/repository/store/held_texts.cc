#include "held_texts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quarry/base/transfer.h"
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
  if (!base::write_all_at(fd_, memory_, in_file_)) fail(errno);
  in_file_ += memory_.size();
  memory_.clear();
}

std::string HeldTexts::get(Span span) const {
  if (span.begin >= in_file_) return memory_.substr(span.begin - in_file_, span.size);
  std::string text(span.size, '\0');
  const ssize_t read = base::read_all_at(fd_, text, span.begin);
  if (read < static_cast<ssize_t>(text.size())) {
    throw cannot_read_temporary(kFile, read < 0 ? std::strerror(errno) : "it ends");
  }
  return text;
}

}  // namespace quarry::repository
