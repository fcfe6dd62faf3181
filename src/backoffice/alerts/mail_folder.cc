#include "mail_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "quarry/base/fd.h"

namespace quarry::backoffice {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::fail_errno("write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 ? Result<void>{} : base::fail_errno("fsync");
}

/// A name made of the time in seconds, and a random part to distinguish mails of one second.
std::string new_name(base::UnixMillis now) {
  std::string name;
  for (const char c : base::iso_seconds(now)) {
    if (c >= '0' && c <= '9') name += c;
  }
  std::random_device random;
  return fmt::format("{}{:010}.email", name, random());
}

}  // namespace

MailFolder::MailFolder(std::filesystem::path folder, const base::Clock& clock)
    : folder_(std::move(folder)), clock_(clock) {}

Result<void> MailFolder::send(const RenderedMail& mail) {
  const auto trouble = [this](std::string_view why) {
    return fail(ErrorCode::kBusy, fmt::format("{} (email-send-dir): {}", folder_.string(), why));
  };
  const base::Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return trouble(base::fail_errno("cannot be opened").error().message);
  const std::string name = new_name(clock_.now());
  const std::string hidden = "." + name;
  // The umask decides, because another user may process the files.
  const base::Fd file(::openat(folder.get(), hidden.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return trouble(base::fail_errno("no file can be made").error().message);
  Result<void> done = write_all(file.get(), mail.message);
  if (done && ::renameat(folder.get(), hidden.c_str(), folder.get(), name.c_str()) != 0) {
    done = base::fail_errno("rename");
  }
  if (!done) {
    ::unlinkat(folder.get(), hidden.c_str(), 0);
    return trouble(done.error().message);
  }
  if (::fsync(folder.get()) != 0) return trouble(base::fail_errno("fsync").error().message);
  return {};
}

}  // namespace quarry::backoffice
