#include "quarry/changes/change_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sections.h"

namespace quarry::changes {
namespace {

using base::Result;

constexpr std::size_t kMaxRead = 4 * kMaxLog;
constexpr std::size_t kMaxLine = 4'096;
constexpr std::size_t kHead = 4'096;  // bytes searched for the name

std::string line_of_state(const HistoryLine& line) {
  return fmt::format("state {} {} {}\n", base::iso_millis(line.time), line.state, line.why);
}

std::string head_of(const Job& job) {
  std::string text = fmt::format("name {}\n", job.name.text());
  for (const ChangeSetId& id : job.meta.dependencies) text += fmt::format("depends {}\n", id.str());
  return text;
}

std::optional<HistoryLine> state_of(std::string_view rest) {
  constexpr std::size_t kTime = 23;
  if (rest.size() < kTime + 2 || rest[kTime] != ' ') return std::nullopt;
  const auto time = base::parse_iso(rest.substr(0, kTime));
  if (!time) return std::nullopt;
  return HistoryLine{.time = *time,
                     .state = rest[kTime + 1],
                     .why = std::string(rest.substr(std::min(rest.size(), kTime + 3)))};
}

void take(LogRecord& record, std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == line.npos) return;
  const std::string_view word = line.substr(0, space), rest = line.substr(space + 1);
  if (word == "name") {
    record.name = ChangeSetName::parse(rest);
  } else if (word == "state") {
    if (auto state = state_of(rest)) record.states.push_back(std::move(*state));
  } else if (word == "output") {
    record.output.append(rest) += '\n';
  } else if (const auto id = ChangeSetId::parse(rest)) {
    auto& ids = word == "depends" ? record.depends : record.supports;
    const bool is_new = std::ranges::find(ids, *id) == ids.end();
    if (is_new && (word == "depends" || word == "supports")) ids.push_back(*id);
  }
}

}  // namespace

Result<void> ChangeLog::append(const ChangeSetId& id, std::string_view text,
                               bool is_bounded) const {
  QUARRY_TRY_ASSIGN(const auto file,
                    directories_.files().open(directories_.log_of(id), base::FileUse::kOpenOrMake));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (is_bounded && size + text.size() > kMaxLog) {
    if (size >= kMaxLog) return {};
    return file->append("output … more is not kept\n");
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
    const std::size_t end = text.find('\n');
    lines += fmt::format("output {}\n", one_line(text.substr(0, end), kMaxLine));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return append(id, lines, true);
}

Result<LogRecord> ChangeLog::read(const ChangeSetId& id) const {
  QUARRY_TRY_ASSIGN(const auto file,
                    directories_.files().open(directories_.log_of(id), base::FileUse::kRead));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  std::string content(std::min<std::uint64_t>(size, kMaxRead), '\0');
  QUARRY_TRY_ASSIGN(const std::size_t read, file->read_at(0, content));
  std::string_view text = std::string_view(content).substr(0, read);
  LogRecord record;
  // A line without a newline is still being written.
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    take(record, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return record;
}

std::optional<ChangeSetName> ChangeLog::name_of(const ChangeSetId& id) const {
  const auto file = directories_.files().open(directories_.log_of(id), base::FileUse::kRead);
  if (!file) return std::nullopt;
  std::string content(kHead, '\0');
  const auto read = (*file)->read_at(0, content);
  std::string_view text = std::string_view(content).substr(0, read.value_or(0));
  LogRecord record;
  for (std::size_t end = text.find('\n'); end != text.npos && !record.name; end = text.find('\n')) {
    take(record, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return std::move(record.name);
}

Result<void> ChangeLog::rebuild(const Job& job) const {
  const LogRecord before = read(job.name.id).value_or(LogRecord());
  std::string text = head_of(job);
  for (const ChangeSetId& id : before.supports) text += fmt::format("supports {}\n", id.str());
  for (const HistoryLine& line : job.history) text += line_of_state(line);
  std::string_view output = before.output;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    text += fmt::format("output {}\n", output.substr(0, end));
    output.remove_prefix(end + 1);
  }
  base::FileSystem& files = directories_.files();
  const auto temporary = directories_.base() / "tmp" / fmt::format("{}.log", job.name.id.str());
  QUARRY_TRY_ASSIGN(const auto file, files.open(temporary, base::FileUse::kOpenOrMake));
  QUARRY_TRY(file->truncate(0));
  QUARRY_TRY(file->append(text));
  QUARRY_TRY(files.rename(temporary, directories_.log_of(job.name.id)));
  for (const ChangeSetId& id : job.meta.dependencies) {
    const LogRecord other = read(id).value_or(LogRecord());
    if (std::ranges::find(other.supports, job.name.id) != other.supports.end()) continue;
    QUARRY_TRY(append(id, fmt::format("supports {}\n", job.name.id.str()), false));
  }
  return {};
}

}  // namespace quarry::changes
