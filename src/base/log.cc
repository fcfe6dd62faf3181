#include "quarry/base/log.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace quarry::base {
namespace {

struct Log {
  LogLevel level = LogLevel::kNotice;
  int fd = STDERR_FILENO;
  std::string prefix;
};

Log& the_log() {
  static Log log;
  return log;
}

constexpr std::array<std::string_view, 5> kNames = {"debug", "notice", "warning", "error", "alert"};

std::string timestamp() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_usec);
}

/// The length of the valid UTF-8 sequence at the start of TEXT, 0 if there is none.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  // U+0080 to U+009F are control characters to a terminal.
  if (lead == 0xC2 && byte(1) < 0xA0) return 0;
  return length;
}

}  // namespace

std::string_view name_of(LogLevel level) {
  return kNames[static_cast<std::size_t>(level)];
}

LogLevel log_level_named(std::string_view name, bool* known) {
  *known = true;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  *known = false;
  return LogLevel::kNotice;
}

void set_log_level(LogLevel level) {
  the_log().level = level;
}
LogLevel log_level() {
  return the_log().level;
}
void set_log_descriptor(int fd) {
  the_log().fd = fd;
}
void set_log_prefix(std::string prefix) {
  the_log().prefix = std::move(prefix);
}

void log_line(LogLevel level, std::string_view message) {
  const Log& log = the_log();
  std::string line = fmt::format("[{}] {}: ", timestamp(), name_of(level));
  if (!log.prefix.empty()) line += fmt::format("[{}] ", log.prefix);
  line += message;
  line += '\n';
  // A log that cannot be written must not stop the work, and there is nobody to tell.
  [[maybe_unused]] const auto ignored = ::write(log.fd, line.data(), line.size());
}

void log_bare(LogLevel level, std::string_view message) {
  if (level < log_level()) return;
  const std::string line = fmt::format("{}\n", message);
  [[maybe_unused]] const auto ignored = ::write(the_log().fd, line.data(), line.size());
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size() && out.size() < limit) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t sequence = byte >= 0x80 ? utf8_sequence(text.substr(i)) : 0;
    if (sequence > 0) {
      out += text.substr(i, sequence);
      i += sequence;
      continue;
    }
    if (byte >= 0x20 && byte < 0x7F && byte != '\\') {
      out += text[i];
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
    ++i;
  }
  if (i < text.size()) out += "…";
  return out;
}

}  // namespace quarry::base
