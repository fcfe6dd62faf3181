#include "quarry/changes/daemon_notes.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxDaemonNote = std::size_t{64} << 10;  // bytes

/// Writes TEXT to the note NAME. If TEXT is empty, removes the note.
Result<void> note(const Directories& directories, std::string_view name, std::string_view text) {
  const auto path = directories.control(name);
  if (!text.empty()) return directories.replace_file(path, text);
  auto removed = directories.files().remove(path);
  if (!removed && removed.error().code == ErrorCode::kNotFound) return {};
  return removed;
}

/// Returns the note NAME, or an empty string if it does not exist.
std::string noted(const Directories& directories, std::string_view name) {
  return directories.read_file(directories.control(name), kMaxDaemonNote).value_or(std::string());
}

}  // namespace

Result<void> note_rules(const Directories& directories, const Rules& rules) {
  std::string text = fmt::format("{} {}", rules.retry_delay.count(), rules.max_rollback);
  for (std::size_t i = 0; i < kMoveTypes; ++i) {
    if (rules.needs_approval[i]) text += fmt::format(" {}", word_of(static_cast<MoveType>(i)));
  }
  return note(directories, "rules", text);
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
  return note(directories, "stopped", reason);
}

std::string stop_reason(const Directories& directories) {
  return one_line(noted(directories, "stopped"), kMaxWhy);
}

Result<void> note_raised(const Directories& directories, const std::vector<RaisedJob>& jobs) {
  std::string text;
  for (const RaisedJob& each : jobs) text += fmt::format("{} {}\n", each.id.str(), each.by.text());
  return note(directories, "raised", text);
}

std::vector<RaisedJob> noted_raised(const Directories& directories) {
  std::vector<RaisedJob> jobs;
  const std::string text = noted(directories, "raised");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = base::take_until(rest, '\n');
    const auto id = ChangeSetId::parse(base::take_until(line, ' '));
    auto by = ChangeSetName::parse(line);
    if (id && by) jobs.push_back({*id, std::move(*by)});
  }
  return jobs;
}

}  // namespace quarry::changes
