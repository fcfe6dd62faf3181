#include "quarry/changes/change_log.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/escape.h"
#include "quarry/base/split.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxRead = 4 * kMaxLog;
constexpr std::size_t kMaxLine = 4'096;  // bytes; a longer line of output is split
constexpr std::size_t kHead = 4'096;  // bytes at the start of a log that are searched for the name

std::string line_of_state(const HistoryLine& line) {
  return fmt::format("state {} {} {}\n", base::iso_millis(line.time), line.state, line.why);
}

std::string head_of(const Job& job) {
  std::string text = fmt::format("name {}\n", job.name.text());
  for (const ChangeSetId& id : job.meta.dependencies) text += fmt::format("depends {}\n", id.str());
  return text;
}

void take(LogRecord& record, std::string_view line) {
  const std::string_view word = base::take_until(line, ' ');
  if (word == "name") {
    record.name = ChangeSetName::parse(line);
  } else if (word == "state") {
    const auto time = base::parse_iso(base::take_until(line, ' '));
    if (time && line.starts_with(letter_of(Stage::kRun))) record.began = time;
  } else if (word == "output") {
    record.output.append(line) += '\n';
  } else if (const auto id = ChangeSetId::parse(line); word == "supports" && id) {
    const bool is_new = std::ranges::find(record.supports, *id) == record.supports.end();
    if (is_new) record.supports.push_back(*id);
  }
}

/// Parses TEXT up to its last newline. Text after the last newline is a line that another process
/// is still writing.
LogRecord record_of(std::string_view text) {
  LogRecord record;
  for (std::string_view rest = text.substr(0, text.rfind('\n') + 1); !rest.empty();) {
    take(record, base::take_until(rest, '\n'));
  }
  return record;
}

}  // namespace

Result<void> ChangeLog::append(const ChangeSetId& id, std::string_view text,
                               bool is_bounded) const {
  QUARRY_TRY_ASSIGN(const auto file,
                    directories_.files().open(directories_.log_of(id), base::FileUse::kOpenOrMake));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (is_bounded && size + text.size() > kMaxLog) {
    if (size >= kMaxLog) return {};
    return file->append("output … (truncated)\n");
  }
  return file->append(text);
}

Result<void> ChangeLog::begin(const Job& job) const {
  QUARRY_TRY(append(job.name.id, head_of(job), false));
  for (const ChangeSetId& id : job.meta.dependencies) {
    QUARRY_TRY(append(id, fmt::format("supports {}\n", job.name.id.str()), false));
  }
  return {};
}

Result<void> ChangeLog::note(const Job& job) const {
  if (job.history.empty()) return {};
  return append(job.name.id, line_of_state(job.history.back()), false);
}

Result<void> ChangeLog::say(const ChangeSetId& id, std::string_view text) const {
  std::string lines;
  while (!text.empty() && lines.size() < kMaxLog) {
    std::string_view line = base::take_until(text, '\n');
    do {
      lines += "output ";
      const std::size_t end = lines.size() + kMaxLine;
      while (!line.empty() && lines.size() < end) base::append_message_character(lines, line);
      lines += '\n';
    } while (!line.empty());
  }
  return append(id, lines, true);
}

Result<LogRecord> ChangeLog::read(const ChangeSetId& id) const {
  QUARRY_TRY_ASSIGN(const std::string text,
                    directories_.read_file(directories_.log_of(id), kMaxRead));
  return record_of(text);
}

std::optional<ChangeSetName> ChangeLog::name_of(const ChangeSetId& id) const {
  const auto text = directories_.read_file(directories_.log_of(id), kHead);
  return text ? record_of(*text).name : std::nullopt;
}

Result<void> ChangeLog::rebuild(const Job& job) const {
  const LogRecord before = read(job.name.id).value_or(LogRecord());
  std::string text = head_of(job);
  for (const ChangeSetId& id : before.supports) text += fmt::format("supports {}\n", id.str());
  for (const HistoryLine& line : job.history) text += line_of_state(line);
  for (std::string_view output = before.output; !output.empty();) {
    text += fmt::format("output {}\n", base::take_until(output, '\n'));
  }
  QUARRY_TRY(directories_.replace_file(directories_.log_of(job.name.id), text));
  for (const ChangeSetId& id : job.meta.dependencies) {
    const LogRecord other = read(id).value_or(LogRecord());
    if (std::ranges::find(other.supports, job.name.id) != other.supports.end()) continue;
    QUARRY_TRY(append(id, fmt::format("supports {}\n", job.name.id.str()), false));
  }
  return {};
}

}  // namespace quarry::changes
