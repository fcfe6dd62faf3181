#include "quarry/worker/access_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace quarry::worker {
namespace {

base::Result<base::Fd> open_file(const std::string& path, base::Reopening reopening) {
  const int making = reopening == base::Reopening::kMakesFile ? O_CREAT : 0;
  base::Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | making, 0640));
  if (!fd) return base::fail_errno(fmt::format("cannot open the access log {}", path));
  return fd;
}

}  // namespace

base::Result<AccessLog> AccessLog::open(AccessLogOptions options) {
  AccessLog log;
  QUARRY_TRY_ASSIGN(log.fd_, open_file(options.path, base::Reopening::kMakesFile));
  log.options_ = std::move(options);
  return log;
}

base::Result<void> AccessLog::reopen(base::Reopening reopening) {
  if (base::is_own_descriptor(options_.path)) return {};
  QUARRY_TRY_ASSIGN(const base::Fd fresh, open_file(options_.path, reopening));
  if (::dup3(fresh.get(), fd_.get(), O_CLOEXEC) >= 0) return {};
  return base::fail_errno(fmt::format("cannot reopen the access log {}", options_.path));
}

bool AccessLog::is_suppressed(const base::AccessRecord& record) const {
  return !options_.suppress_paths.empty() && (record.method == "GET" || record.method == "HEAD") &&
         record.query.empty() && record.content_length == 0 && record.status / 100 == 2 &&
         std::ranges::find(options_.suppress_paths, record.path) != options_.suppress_paths.end();
}

void AccessLog::write(const base::AccessRecord& record) {
  if (is_suppressed(record)) return;
  line_.clear();
  options_.format.render(record, line_);
  // A log that cannot be written must not stop the work.
  [[maybe_unused]] const auto ignored = ::write(fd_.get(), line_.data(), line_.size());
}

}  // namespace quarry::worker
