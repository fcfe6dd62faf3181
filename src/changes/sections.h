// Sections of meta files and job files (change_set.h describes the format).
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

/// Parses TEXT into sections, in order. Names must be unique, and everything must be UTF-8 without
/// control characters except tabs. Errors: kInvalid, kLimit.
base::Result<std::vector<Section>> read_sections(std::string_view text, std::size_t limit);
/// Appends the section NAME with LINES to OUT. Appends no section if there are no lines.
void append_section(std::string& out, std::string_view name, const std::vector<std::string>& lines);
/// The same with the lines of VALUE. Appends no section if VALUE is empty.
void append_section(std::string& out, std::string_view name, std::string_view value);
void append_section(std::string& out, std::string_view name, const std::vector<ChangeSetId>& ids);

// The functions below return the contents of sections. Errors: kInvalid, kLimit; the message names
// the section.

/// The lines that are not blank, at most kMaxName bytes each.
base::Result<std::vector<std::string>> lines_of(const Section& section, std::size_t limit);
/// The only line, which must not begin or end with a space.
base::Result<std::string> line_of(const Section& section);
base::Result<std::vector<ChangeSetId>> ids_of(const Section& section);

/// The metadata in SECTIONS, which must not include a job's own sections. It may be incomplete.
base::Result<Meta> meta_of(std::vector<Section> sections);
/// Whether sections called NAME occur only in job files and are written only by the queue.
bool is_of_jobs(std::string_view name);

/// TEXT as one line of at most LIMIT bytes, with control characters and invalid UTF-8 escaped.
std::string one_line(std::string_view text, std::size_t limit);

}  // namespace quarry::changes
