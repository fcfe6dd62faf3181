#include "sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "quarry/base/escape.h"
#include "quarry/base/split.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxSectionName = 64;

bool is_section_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxSectionName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// Starts the section that is named in LINE.
Result<void> begin(std::vector<Section>& sections, std::string_view line, std::size_t number) {
  const std::string_view name = line.substr(2);
  if (!is_section_name(name)) {
    return fail(ErrorCode::kInvalid,
                "line {}: \"{}\" is not a section: a name in lower case must follow ##", number,
                base::printable(line, 40));
  }
  if (std::ranges::any_of(sections, [&](const Section& one) { return one.name == name; })) {
    return fail(ErrorCode::kInvalid, "line {}: duplicate section ##{}", number, name);
  }
  if (sections.size() == kMaxSections) {
    return fail(ErrorCode::kLimit, "more than {} sections", kMaxSections);
  }
  sections.push_back({.name = std::string(name), .lines = {}});
  return {};
}

}  // namespace

Result<std::vector<Section>> read_sections(std::string_view text, std::size_t limit) {
  if (text.size() > limit) {
    return fail(ErrorCode::kLimit, "it is {} bytes long; the limit is {}", text.size(), limit);
  }
  std::vector<Section> sections;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = base::take_until(text, '\n');
    if (!base::is_text(line, "\t")) {
      return fail(ErrorCode::kInvalid, "line {} contains a control character or invalid UTF-8",
                  number);
    }
    if (line.starts_with("##")) {
      QUARRY_TRY(begin(sections, line, number));
      continue;
    }
    if (line.starts_with('\\')) line.remove_prefix(1);
    if (!sections.empty()) {
      sections.back().lines.emplace_back(line);
    } else if (!line.empty()) {
      return fail(ErrorCode::kInvalid, "line {}: text before the first section", number);
    }
  }
  return sections;
}

void append_section(std::string& out, std::string_view name,
                    const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::format_to(std::back_inserter(out), "##{}\n", name);
  for (const std::string& line : lines) {
    if (line.starts_with("##") || line.starts_with('\\')) out += '\\';
    out += line;
    out += '\n';
  }
}

void append_section(std::string& out, std::string_view name, std::string_view value) {
  std::vector<std::string> lines;
  while (!value.empty()) lines.emplace_back(base::take_until(value, '\n'));
  append_section(out, name, lines);
}

void append_section(std::string& out, std::string_view name, const std::vector<ChangeSetId>& ids) {
  std::vector<std::string> lines;
  lines.reserve(ids.size());
  for (const ChangeSetId& id : ids) lines.emplace_back(id.str());
  append_section(out, name, lines);
}

Result<std::vector<std::string>> lines_of(const Section& section, std::size_t limit) {
  std::vector<std::string> lines;
  for (const std::string& line : section.lines) {
    if (line.empty()) continue;
    if (line.size() > kMaxName) {
      return fail(ErrorCode::kLimit, "##{}: \"{}\" is longer than {} bytes", section.name,
                  base::printable(line, 40), kMaxName);
    }
    if (line.find('\t') != line.npos) {
      return fail(ErrorCode::kInvalid, "##{}: \"{}\" contains a tab", section.name,
                  base::printable(line, 40));
    }
    if (lines.size() == limit) {
      return fail(ErrorCode::kLimit, "##{}: more than {} lines", section.name, limit);
    }
    lines.push_back(line);
  }
  return lines;
}

Result<std::string> line_of(const Section& section) {
  QUARRY_TRY_ASSIGN(const auto lines, lines_of(section, kMaxFiles));
  if (lines.size() != 1) {
    return fail(ErrorCode::kInvalid, "##{}: {} lines instead of one", section.name, lines.size());
  }
  if (lines[0].starts_with(' ') || lines[0].ends_with(' ')) {
    return fail(ErrorCode::kInvalid, "##{}: begins or ends with a space", section.name);
  }
  return lines[0];
}

Result<std::vector<ChangeSetId>> ids_of(const Section& section) {
  QUARRY_TRY_ASSIGN(const auto lines, lines_of(section, kMaxReferences));
  std::vector<ChangeSetId> ids;
  ids.reserve(lines.size());
  for (const std::string& line : lines) {
    const auto id = ChangeSetId::parse(line);
    if (!id) {
      return fail(ErrorCode::kInvalid,
                  "##{}: \"{}\" is not a change-set id (16 hexadecimal digits)", section.name,
                  base::printable(line, 40));
    }
    ids.push_back(*id);
  }
  std::vector<ChangeSetId> sorted = ids;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return ids;
  return fail(ErrorCode::kInvalid, "##{}: {} is listed twice", section.name, twice->str());
}

bool is_of_jobs(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {"submitter", "address",  "attempts",
                                                      "held",      "approver", "landed",
                                                      "closure",   "rollback", "history"};
  return std::ranges::find(kNames, name) != kNames.end();
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string line;
  while (!text.empty()) {
    const std::size_t before = line.size();
    base::append_message_character(line, text);
    if (line.size() > limit) {
      line.resize(before);
      break;
    }
  }
  return line;
}

}  // namespace quarry::changes
