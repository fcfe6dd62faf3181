#include "quarry/changes/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::array<std::string_view, kStages> kStates = {"submitted", "queued",     "staged",
                                                           "pending",   "running",    "landed",
                                                           "failed",    "terminated", "abandoned"};
constexpr std::array<std::string_view, kStages> kFolders = {
    "prequeue", "queue", "staging", "pending", "run", "done", "fail", "term", "abandon"};
constexpr std::string_view kLetters = "QQSPXDFTA";

constexpr std::string_view kLocal = "local";

constexpr std::size_t kTime = 23;  // "2026-03-04T05:06:07.123"

std::optional<Stage> stage_at(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Stage>(found - names.begin());
}

std::unexpected<Error> wrong(const Section& section, std::string_view line, std::string_view what) {
  return fail(ErrorCode::kInvalid, "##{}: \"{}\" {}", section.name, base::printable(line, 80),
              what);
}

Result<HistoryLine> history_line_of(const Section& section, std::string_view line) {
  std::string_view rest = line;
  const std::string_view time_word = base::take_until(rest, ' ');
  const std::string_view state = base::take_until(rest, ' ');
  const auto time = base::parse_iso(time_word);
  // Check the size, because rounding a fraction of a second can result in the year 10000, which has
  // five digits.
  if (!time || base::iso_millis(*time).size() != kTime || state.size() != 1 ||
      kLetters.find(state[0]) == kLetters.npos) {
    return wrong(section, line, "is not a valid history line");
  }
  return HistoryLine{.time = *time, .state = state[0], .why = one_line(rest, kMaxWhy)};
}

Result<void> take_submitter(Job& job, const Section& section) {
  QUARRY_TRY_ASSIGN(auto lines, lines_of(section, 3));
  if (lines.empty()) return fail(ErrorCode::kInvalid, "##submitter: missing");
  if (lines.size() == 3 && lines[2] != kLocal) return wrong(section, lines[2], "is not \"local\"");
  job.submitter = std::move(lines[0]);
  if (lines.size() > 1) job.capabilities = std::move(lines[1]);
  job.is_local = lines.size() == 3;
  return {};
}

Result<void> take_attempts(Job& job, const Section& section) {
  QUARRY_TRY_ASSIGN(const std::string line, line_of(section));
  std::string_view rest = line;
  const auto crashes = base::parse_number<std::uint32_t>(base::take_until(rest, ' '));
  const auto deferrals = base::parse_number<std::uint32_t>(rest);
  if (!crashes || !deferrals) return wrong(section, line, "is not two numbers");
  job.crashes = *crashes;
  job.deferrals = *deferrals;
  return {};
}

Result<void> take_landed(Job& job, const Section& section) {
  QUARRY_TRY_ASSIGN(const std::string line, line_of(section));
  job.landed = artifact::HashName::parse(line);
  if (!job.landed) return wrong(section, line, "is not a hash");
  return {};
}

Result<void> take_rollback(Job& job, const Section& section) {
  QUARRY_TRY_ASSIGN(const std::string line, line_of(section));
  std::string_view rest = line;
  const auto by = ChangeSetId::parse(base::take_until(rest, ' '));
  const auto from = stage_of_folder(rest);
  if (!by || !from) return wrong(section, line, "must be a rollback id and a folder");
  job.rolled_back = RolledBack{.by = *by, .from = *from};
  return {};
}

Result<void> take_history(Job& job, const Section& section) {
  for (const std::string& line : section.lines) {
    if (line.empty()) continue;
    if (job.history.size() == kMaxHistory) {
      return fail(ErrorCode::kLimit, "##history: more than {} lines", kMaxHistory);
    }
    QUARRY_TRY_ASSIGN(auto read, history_line_of(section, line));
    job.history.push_back(std::move(read));
  }
  return {};
}

/// Parses SECTION, a section that only job files have, into JOB.
Result<void> take(Job& job, const Section& section) {
  const std::string& name = section.name;
  if (name == "submitter") return take_submitter(job, section);
  if (name == "attempts") return take_attempts(job, section);
  if (name == "landed") return take_landed(job, section);
  if (name == "rollback") return take_rollback(job, section);
  if (name == "history") return take_history(job, section);
  if (name == "closure") {
    QUARRY_TRY_ASSIGN(job.closure, ids_of(section));
  } else if (name == "address") {
    QUARRY_TRY_ASSIGN(job.address, line_of(section));
  } else if (name == "approver") {
    QUARRY_TRY_ASSIGN(job.approver, line_of(section));
  } else {
    QUARRY_TRY_ASSIGN(job.held, line_of(section));
  }
  return {};
}

std::string history_text(const HistoryLine& line) {
  std::string text = fmt::format("{} {}", base::iso_millis(line.time), line.state);
  if (!line.why.empty()) text += " " + line.why;
  return text;
}

}  // namespace

std::string_view word_of(Stage stage) {
  return kStates[static_cast<std::size_t>(stage)];
}

std::optional<Stage> stage_named(std::string_view word) {
  return stage_at(kStates, word);
}

std::string_view folder_of(Stage stage) {
  return kFolders[static_cast<std::size_t>(stage)];
}

std::optional<Stage> stage_of_folder(std::string_view name) {
  return stage_at(kFolders, name);
}

char letter_of(Stage stage) {
  return kLetters[static_cast<std::size_t>(stage)];
}

Stage stage_with(char letter) {
  return static_cast<Stage>(kLetters.rfind(letter));
}

base::UnixMillis Job::ended() const {
  return history.empty() ? time_of_tai64n(name.tai) : history.back().time;
}

bool Job::is_checked() const {
  return meta.check() && (name.type == MoveType::kRollback || !meta.base.empty());
}

void Job::add_history(base::UnixMillis time, Stage stage, std::string_view why) {
  if (history.size() >= kMaxHistory) history.erase(history.begin() + kMaxHistory / 2);
  history.push_back({.time = time, .state = letter_of(stage), .why = one_line(why, kMaxWhy)});
}

Result<Job> Job::parse(const ChangeSetName& name, std::string_view text) {
  QUARRY_TRY_ASSIGN(auto sections, read_sections(text, kMaxJob));
  Job job;
  job.name = name;
  std::vector<Section> of_meta;
  for (Section& section : sections) {
    if (is_of_jobs(section.name)) {
      QUARRY_TRY(take(job, section));
    } else {
      of_meta.push_back(std::move(section));
    }
  }
  QUARRY_TRY_ASSIGN(job.meta, meta_of(std::move(of_meta)));
  if (job.meta.type != name.type) {
    return fail(ErrorCode::kInvalid, "##movetype is {}, but the move type in the job's name is {}",
                word_of(job.meta.type), word_of(name.type));
  }
  return job;
}

std::string Job::text() const {
  std::string out = meta.text();
  std::vector<std::string> who;
  if (!submitter.empty()) who.push_back(submitter);
  if (!submitter.empty() && !capabilities.empty()) {
    who.push_back(capabilities);
    if (is_local) who.emplace_back(kLocal);
  }
  append_section(out, "submitter", who);
  append_section(out, "address", address);
  if (crashes != 0 || deferrals != 0) {
    append_section(out, "attempts", fmt::format("{} {}", crashes, deferrals));
  }
  append_section(out, "held", held);
  append_section(out, "approver", approver);
  if (landed) append_section(out, "landed", landed->str());
  append_section(out, "closure", closure);
  if (rolled_back) {
    append_section(out, "rollback",
                   fmt::format("{} {}", rolled_back->by.str(), folder_of(rolled_back->from)));
  }
  std::vector<std::string> lines;
  lines.reserve(history.size());
  for (const HistoryLine& line : history) lines.push_back(history_text(line));
  append_section(out, "history", lines);
  return out;
}

}  // namespace quarry::changes
