#include <fmt/core.h>

#include <algorithm>

#include <iterator>
#include <utility>

#include "quarry/artifact/structural.h"
#include "quarry/base/escape.h"
#include "quarry/changes/change_set.h"
#include "sections.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

Result<MoveType> move_type_of(const Section& section) {
  QUARRY_TRY_ASSIGN(const std::string word, line_of(section));
  if (const auto type = move_type_named(word)) return *type;
  return fail(ErrorCode::kInvalid,
              fmt::format("##movetype: \"{}\" is not RB, EM, BF or DC", base::printable(word, 40)));
}

Result<std::vector<std::string>> files_of(const Section& section) {
  QUARRY_TRY_ASSIGN(auto files, lines_of(section, kMaxFiles));
  for (const std::string& name : files) {
    if (artifact::is_simple_path(name)) continue;
    return fail(
        ErrorCode::kInvalid,
        fmt::format("##files: \"{}\" must be a relative path with no \".\" or \"..\" components",
                    base::printable(name, 80)));
  }
  std::vector<std::string_view> sorted(files.begin(), files.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return files;
  return fail(ErrorCode::kInvalid,
              fmt::format("##files: \"{}\" is listed twice", base::printable(*twice, 80)));
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
  return fail(ErrorCode::kLimit, fmt::format("##comment: longer than {} bytes", kMaxComment));
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
  } else {
    std::erase(section.lines, "");
    meta.others.emplace_back(std::move(section.name), std::move(section.lines));
  }
  return {};
}

}  // namespace

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
    if (files.empty()) return {};
    return fail(ErrorCode::kInvalid, "##files: not allowed in a rollback");
  }
  if (target.empty()) return fail(ErrorCode::kInvalid, "##target: missing");
  if (files.empty()) return fail(ErrorCode::kInvalid, "##files: missing");
  return {};
}

Result<Meta> Meta::parse(std::string_view text) {
  QUARRY_TRY_ASSIGN(auto sections, read_sections(text, kMaxMeta));
  for (const Section& section : sections) {
    if (!is_of_jobs(section.name)) continue;
    return fail(ErrorCode::kInvalid,
                fmt::format("##{}: only the queue can write this section", section.name));
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
  for (const auto& [name, lines] : others) append_section(out, name, lines);
  return out;
}

}  // namespace quarry::changes
