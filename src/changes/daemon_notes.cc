#include "quarry/changes/daemon_notes.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>

#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "sections.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::Result;

constexpr std::size_t kMaxDaemonNote = 4'096;  // bytes

/// Returns the note NAME as one line, or an empty string if it does not exist.
std::string noted(const Directories& directories, std::string_view name) {
  const auto text = directories.read_file(directories.control(name), kMaxDaemonNote);
  return text ? one_line(*text, kMaxWhy) : std::string();
}

}  // namespace

Result<void> note_rules(const Directories& directories, const Rules& rules) {
  std::string text = fmt::format("{} {}", rules.retry_delay.count(), rules.max_rollback);
  for (std::size_t i = 0; i < kMoveTypes; ++i) {
    if (rules.needs_approval[i]) text += fmt::format(" {}", word_of(static_cast<MoveType>(i)));
  }
  return directories.replace_file(directories.control("rules"), text);
}

Rules noted_rules(const Directories& directories) {
  Rules rules;
  const std::string text = noted(directories, "rules");
  std::string_view rest = text;
  const auto retry_delay = base::take_number<std::uint32_t>(rest);
  if (retry_delay) rules.retry_delay = std::chrono::milliseconds(*retry_delay);
  rules.max_rollback = base::take_number<std::uint32_t>(rest).value_or(rules.max_rollback);
  while (!rest.empty()) {
    const auto type = move_type_named(base::take_until(rest, ' '));
    if (type) rules.needs_approval[static_cast<std::size_t>(*type)] = true;
  }
  return rules;
}

Result<void> note_stop(const Directories& directories, std::string_view reason) {
  const auto path = directories.control("stopped");
  if (!reason.empty()) return directories.replace_file(path, reason);
  auto removed = directories.files().remove(path);
  if (!removed && removed.error().code == ErrorCode::kNotFound) return {};
  return removed;
}

std::string stop_reason(const Directories& directories) {
  return noted(directories, "stopped");
}

}  // namespace quarry::changes
