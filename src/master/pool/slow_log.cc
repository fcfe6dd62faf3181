#include "slow_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::master {
namespace {

void append_text(std::string& line, std::string_view name, std::string_view text) {
  line += fmt::format(" {}=\"", name);
  base::append_printable(line, text, 256, "\"");
  line += '"';
}

}  // namespace

std::string slow_log_line(const SlowRequest& request) {
  const scoreboard::SlotState& state = request.state;
  std::string line =
      fmt::format("[{}] pid={} seconds={:.3f}", request.service, request.pid, request.seconds);
  append_text(line, "request", fmt::format("{} {}", state.method.view(), state.uri.view()));
  append_text(line, "repository", state.repository.view());
  append_text(line, "user", state.user.view());
  append_text(line, "operation", state.operation.view());
  append_text(line, "request_id", state.request_id.view());
  line += fmt::format(" received={}/{}", state.received, state.content_length);
  append_text(line, "doing", state.doing.view());
  if (!state.sql.view().empty()) {
    append_text(line, "sql", state.sql.view());
    line += fmt::format(" sql_age={:.3f}", static_cast<double>(request.micros_since_sql) / 1000000);
  }
  return line;
}

void write_slow_log(const std::string& path, const SlowRequest& request) {
  const std::string line =
      fmt::format("[{}] {}\n", base::iso_micros(scoreboard::wall_micros()), slow_log_line(request));
  const base::Fd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0640));
  if (file && ::write(file.get(), line.data(), line.size()) >= 0) return;
  base::log(base::LogLevel::kError, "{}",
            fail_errno("cannot write the slow log {}", path).error().message);
}

}  // namespace quarry::master
