#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "quarry/artifact/structural.h"
#include "quarry/base/escape.h"
#include "quarry/base/split.h"
#include "quarry/changes/change_set.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::array<std::string_view, 3> kMergeWords = {"merge", "cherrypick", "backout"};

Result<MoveType> move_type_of(const Section& section) {
  QUARRY_TRY_ASSIGN(const std::string word, line_of(section));
  if (const auto type = move_type_named(word)) return *type;
  return fail(ErrorCode::kInvalid, "##movetype: \"{}\" is not RB, EM, BF or DC",
              base::printable(word, 40));
}

Result<std::vector<std::string>> files_of(const Section& section) {
  QUARRY_TRY_ASSIGN(auto files, lines_of(section, kMaxFiles));
  for (const std::string& name : files) {
    if (artifact::is_simple_path(name)) continue;
    return fail(ErrorCode::kInvalid,
                "##files: \"{}\" must be a relative path with no \".\" or \"..\" components",
                base::printable(name, 80));
  }
  std::vector<std::string_view> sorted(files.begin(), files.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return files;
  return fail(ErrorCode::kInvalid, "##files: \"{}\" is listed twice", base::printable(*twice, 80));
}

Result<std::vector<Rename>> renames_of(const Section& section) {
  std::vector<Rename> renames;
  for (std::string_view line : section.lines) {
    if (line.empty()) continue;
    const std::string_view from = base::take_until(line, '\t');
    if (from.empty() || line.empty() || from == line || line.find('\t') != line.npos) {
      return fail(ErrorCode::kInvalid,
                  "##renames: \"{}\": expected an old name, a tab and a new name",
                  base::printable(from, 80));
    }
    if (renames.size() == kMaxFiles) {
      return fail(ErrorCode::kLimit, "##renames: more than {} lines", kMaxFiles);
    }
    renames.push_back({.from = std::string(from), .to = std::string(line)});
  }
  return renames;
}

Result<std::vector<MergedCheckIn>> merges_of(const Section& section) {
  QUARRY_TRY_ASSIGN(const auto lines, lines_of(section, kMaxReferences));
  std::vector<MergedCheckIn> merges;
  for (std::string_view line : lines) {
    const std::string_view word = base::take_until(line, ' ');
    const auto kind = std::ranges::find(kMergeWords, word);
    const auto check_in = artifact::HashName::parse(line);
    if (kind == kMergeWords.end() || !check_in) {
      return fail(ErrorCode::kInvalid,
                  "##merges: \"{} {}\": expected merge, cherrypick or backout, then the hash "
                  "of a check-in",
                  base::printable(word, 40), base::printable(line, 80));
    }
    merges.push_back({static_cast<MergeKind>(kind - kMergeWords.begin()), *check_in});
  }
  return merges;
}

/// Returns the first name in RENAMES that is listed twice or is not in FILES, or nullptr if all
/// names are valid. NAME_OF selects the old or the new names. FILES must be sorted.
const std::string* wrong_name(const std::vector<Rename>& renames,
                              const std::vector<std::string_view>& files,
                              std::string Rename::*name_of) {
  std::set<std::string_view> names;
  for (const Rename& each : renames) {
    const std::string& name = each.*name_of;
    if (!names.insert(name).second || !std::ranges::binary_search(files, name)) return &name;
  }
  return nullptr;
}

Result<std::string> comment_of(const Section& section) {
  auto begin = section.lines.begin(), end = section.lines.end();
  while (begin != end && begin->empty()) ++begin;
  while (begin != end && std::prev(end)->empty()) --end;
  std::string comment;
  for (auto line = begin; line != end; ++line) {
    if (line != begin) comment += '\n';
    comment += *line;
  }
  if (comment.size() <= kMaxComment) return comment;
  return fail(ErrorCode::kLimit, "##comment: longer than {} bytes", kMaxComment);
}

Result<void> take(Meta& meta, Section section) {
  const std::string& name = section.name;
  if (name == "movetype") {
    QUARRY_TRY_ASSIGN(meta.type, move_type_of(section));
  } else if (name == "files") {
    QUARRY_TRY_ASSIGN(meta.files, files_of(section));
  } else if (name == "dependencies") {
    QUARRY_TRY_ASSIGN(meta.dependencies, ids_of(section));
  } else if (name == "precursors") {
    QUARRY_TRY_ASSIGN(meta.precursors, ids_of(section));
  } else if (name == "comment") {
    QUARRY_TRY_ASSIGN(meta.comment, comment_of(section));
  } else if (name == "target") {
    QUARRY_TRY_ASSIGN(meta.target, line_of(section));
  } else if (name == "approval") {
    QUARRY_TRY_ASSIGN(meta.approval, line_of(section));
  } else if (name == "author") {
    QUARRY_TRY_ASSIGN(meta.author, line_of(section));
  } else if (name == "base") {
    QUARRY_TRY_ASSIGN(meta.base, line_of(section));
  } else if (name == "renames") {
    QUARRY_TRY_ASSIGN(meta.renames, renames_of(section));
  } else if (name == "merges") {
    QUARRY_TRY_ASSIGN(meta.merges, merges_of(section));
  } else {
    std::erase(section.lines, "");
    meta.others.emplace_back(std::move(section.name), std::move(section.lines));
  }
  return {};
}

}  // namespace

bool has_branch(const std::vector<MergedCheckIn>& merges) {
  return std::ranges::find(merges, MergeKind::kMerge, &MergedCheckIn::kind) != merges.end();
}

Result<Meta> meta_of(std::vector<Section> sections) {
  Meta meta;
  bool has_type = false;
  for (Section& section : sections) {
    // Skip a section without content, as if it were missing.
    const bool is_blank = std::ranges::all_of(section.lines, &std::string::empty);
    has_type = has_type || section.name == "movetype";
    if (is_blank && section.name != "movetype") continue;
    QUARRY_TRY(take(meta, std::move(section)));
  }
  if (!has_type) return fail(ErrorCode::kInvalid, "##movetype: missing");
  return meta;
}

Result<void> Meta::check() const {
  if (type == MoveType::kRollback) {
    if (dependencies.empty()) {
      return fail(ErrorCode::kInvalid, "##dependencies: missing, but required for a rollback");
    }
    if (files.empty() && renames.empty() && merges.empty()) return {};
    return fail(ErrorCode::kInvalid, "##files: a rollback cannot have files, renames or merges");
  }
  if (target.empty()) return fail(ErrorCode::kInvalid, "##target: missing");
  // A merge of a branch may leave all files as they are.
  if (files.empty() && !has_branch(merges)) return fail(ErrorCode::kInvalid, "##files: missing");
  std::vector<std::string_view> sorted(files.begin(), files.end());
  std::ranges::sort(sorted);
  for (const auto name_of : {&Rename::from, &Rename::to}) {
    if (const std::string* const name = wrong_name(renames, sorted, name_of)) {
      return fail(ErrorCode::kInvalid, "##renames: \"{}\" is listed twice, or not in ##files",
                  base::printable(*name, 80));
    }
  }
  return {};
}

Result<Meta> Meta::parse(std::string_view text) {
  QUARRY_TRY_ASSIGN(auto sections, read_sections(text, kMaxMeta));
  for (const Section& section : sections) {
    if (!is_of_jobs(section.name)) continue;
    return fail(ErrorCode::kInvalid, "##{}: only the queue can write this section", section.name);
  }
  QUARRY_TRY_ASSIGN(auto meta, meta_of(std::move(sections)));
  QUARRY_TRY(meta.check());
  return meta;
}

std::string Meta::text() const {
  std::string out;
  append_section(out, "movetype", word_of(type));
  append_section(out, "target", target);
  append_section(out, "files", files);
  append_section(out, "dependencies", dependencies);
  append_section(out, "approval", approval);
  append_section(out, "precursors", precursors);
  append_section(out, "comment", comment);
  append_section(out, "author", author);
  append_section(out, "base", base);
  std::vector<std::string> renamed, merged;
  for (const Rename& each : renames) renamed.push_back(each.from + '\t' + each.to);
  append_section(out, "renames", renamed);
  for (const auto& [kind, check_in] : merges) {
    merged.push_back(
        fmt::format("{} {}", kMergeWords[static_cast<std::size_t>(kind)], check_in.str()));
  }
  append_section(out, "merges", merged);
  for (const auto& [name, lines] : others) append_section(out, name, lines);
  return out;
}

}  // namespace quarry::changes
