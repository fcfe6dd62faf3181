#include "log_lines.h"

#include <fmt/core.h>
#include <syslog.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "quarry/base/number.h"
#include "quarry/courier/log_courier.h"

namespace quarry::courier {
namespace {

struct Level {
  std::string_view name;
  std::uint8_t severity;
};
constexpr auto kLevels = std::to_array<Level>({{"debug", LOG_DEBUG},
                                               {"info", LOG_INFO},
                                               {"notice", LOG_NOTICE},
                                               {"warning", LOG_WARNING},
                                               {"error", LOG_ERR},
                                               {"alert", LOG_ALERT}});

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

/// Splits "[TIME] LEVEL: MESSAGE" into level and message. The level is "" if TEXT has another form.
std::pair<std::string_view, std::string_view> parts_of(std::string_view text) {
  std::string_view rest = text;
  const std::string_view time = take_word(rest);
  std::string_view level = take_word(rest);
  if (!time.starts_with('[') || !time.ends_with(']') || !level.ends_with(':')) return {"", text};
  level.remove_suffix(1);
  return {level, rest};
}

}  // namespace

std::string_view LogLine::pool() const {
  const std::string_view prefix = kAccessLogPrefix;
  return log.starts_with(prefix) ? log.substr(prefix.size()) : std::string_view();
}

spool::Message message_of(std::int64_t micros, std::string_view log, std::string_view text) {
  return {.content = fmt::format("{} {} {}", micros, log, text),
          .severity = log == kErrorLog ? severity_of(text) : spool::kInformational};
}

std::optional<LogLine> line_in(const spool::Message& message) {
  std::string_view rest = message.content;
  const auto micros = base::parse_number<std::int64_t>(take_word(rest));
  const std::string_view log = take_word(rest);
  if (!micros || log.empty()) return std::nullopt;
  return LogLine{*micros, log, message.severity, rest};
}

std::uint8_t severity_of(std::string_view text) {
  std::string_view level = parts_of(text).first;
  constexpr std::string_view kMember = "\"level\":\"";
  if (const std::size_t at = text.find(kMember); text.starts_with('{') && at != text.npos) {
    level = text.substr(at + kMember.size());
    level = level.substr(0, level.find('"'));
  }
  const auto found = std::ranges::find(kLevels, level, &Level::name);
  return found == kLevels.end() ? spool::kInformational : found->severity;
}

std::string_view without_head(std::string_view text) {
  return parts_of(text).second;
}

std::string_view level_named(std::uint8_t severity) {
  const auto found = std::ranges::find(kLevels, severity, &Level::severity);
  return found == kLevels.end() ? "info" : found->name;
}

}  // namespace quarry::courier
