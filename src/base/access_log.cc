#include "quarry/base/access_log.h"

#include <algorithm>
#include <cerrno>

namespace quarry::base {

Result<AccessLog> AccessLog::open(AccessLogOptions options, Fd lost) {
  AccessLog log;
  QUARRY_TRY_ASSIGN(log.lost_, LostLines::make(std::move(lost)));
  QUARRY_TRY_ASSIGN(Fd fd, open_log_file("access log", options.path));
  log.stream_ = LogStream(std::move(fd));
  log.options_ = std::move(options);
  return log;
}

Result<void> AccessLog::reopen() {
  if (is_own_descriptor(options_.path)) return {};
  QUARRY_TRY_ASSIGN(const Fd fresh, open_log_file("access log", options_.path));
  return replace(fresh);
}

Result<void> AccessLog::replace(const Fd& fresh) {
  return is_own_descriptor(options_.path) ? Result<void>() : stream_.replace(fresh);
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
  if (!stream_.write(line_)) return lost_.add(errno);
  if (const std::uint64_t lost = lost_.take_unreported(); lost > 0) {
    log(LogLevel::kWarning, "{}",
        lost_lines_message(fmt::format("access log {}", options_.path), lost) + ": " +
            lost_.cause());
  }
}

}  // namespace quarry::base
