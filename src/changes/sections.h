// Sections of meta files and job files. The format is described in change_set.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

struct Section {
  std::string name;
  std::vector<std::string> lines;  // unescaped, including blank lines
};

/// Parses TEXT into sections, in order. Names must be unique. TEXT must be UTF-8 without control
/// characters except tabs and newlines. Errors: kInvalid, kLimit.
Result<std::vector<Section>> read_sections(std::string_view text, std::size_t limit);
/// Appends the section NAME with LINES to OUT. Does nothing if LINES is empty.
void append_section(std::string& out, std::string_view name, const std::vector<std::string>& lines);
/// Appends the section NAME with the lines of VALUE to OUT. Does nothing if VALUE is empty.
void append_section(std::string& out, std::string_view name, std::string_view value);
void append_section(std::string& out, std::string_view name, const std::vector<ChangeSetId>& ids);

// The functions below return the contents of sections. Errors: kInvalid, kLimit; the message names
// the section.

/// Returns the lines that are not blank, at most kMaxName bytes each.
Result<std::vector<std::string>> lines_of(const Section& section, std::size_t limit);
/// Returns the only line of SECTION. The line must not begin or end with a space.
Result<std::string> line_of(const Section& section);
Result<std::vector<ChangeSetId>> ids_of(const Section& section);

/// Returns the metadata in SECTIONS, which must not include sections that only job files have. The
/// metadata may be incomplete.
Result<Meta> meta_of(std::vector<Section> sections);
/// Returns whether the section NAME occurs only in job files, and never in a meta file.
bool is_of_jobs(std::string_view name);

/// Returns TEXT as one line of at most LIMIT bytes, with control characters and invalid UTF-8
/// escaped.
std::string one_line(std::string_view text, std::size_t limit);

}  // namespace quarry::changes
