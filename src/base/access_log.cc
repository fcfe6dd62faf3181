#include "quarry/base/access_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace quarry::base {

Result<AccessLog> AccessLog::open(AccessLogOptions options) {
  AccessLog log;
  QUARRY_TRY_ASSIGN(log.fd_, open_log_file("access log", options.path));
  log.options_ = std::move(options);
  return log;
}

Result<void> AccessLog::reopen() {
  if (is_own_descriptor(options_.path)) return {};
  QUARRY_TRY_ASSIGN(const Fd fresh, open_log_file("access log", options_.path));
  return replace(fresh);
}

Result<void> AccessLog::replace(const Fd& fresh) {
  if (is_own_descriptor(options_.path)) return {};
  if (::dup3(fresh.get(), fd_.get(), O_CLOEXEC) >= 0) return {};
  return fail_errno("cannot reopen the access log {}", options_.path);
}

bool AccessLog::is_suppressed(const AccessRecord& record) const {
  return !options_.suppress_paths.empty() && (record.method == "GET" || record.method == "HEAD") &&
         record.query.empty() && record.content_length == 0 && record.status / 100 == 2 &&
         std::ranges::find(options_.suppress_paths, record.path) != options_.suppress_paths.end();
}

void AccessLog::write(const AccessRecord& record) {
  if (is_suppressed(record)) return;
  line_.clear();
  options_.format.render(record, line_);
  // Ignore errors, because a log that cannot be written must not stop the server.
  [[maybe_unused]] const auto ignored = ::write(fd_.get(), line_.data(), line_.size());
}

}  // namespace quarry::base
