// The sections that meta files and job files are made of (change_set.h has the format).
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
  std::vector<std::string> lines;  // without their backslashes; blank ones too
};

/// The sections of TEXT in their order. Each has a name of its own, and all of it is UTF-8 without
/// control characters but tabs. Errors: kInvalid, kLimit.
base::Result<std::vector<Section>> read_sections(std::string_view text, std::size_t most);
/// Appends the section NAME with LINES to OUT; nothing where there are none.
void append_section(std::string& out, std::string_view name, const std::vector<std::string>& lines);
/// The same with the lines of VALUE; nothing where it is empty.
void append_section(std::string& out, std::string_view name, std::string_view value);
void append_section(std::string& out, std::string_view name, const std::vector<ChangeSetId>& ids);

// What sections hold. Errors: kInvalid, kLimit, with the section's name.

/// The lines that are not blank, no longer than kMostName each.
base::Result<std::vector<std::string>> lines_of(const Section& section, std::size_t most);
/// The one line; it neither begins nor ends with a space.
base::Result<std::string> line_of(const Section& section);
base::Result<std::vector<ChangeSetId>> ids_of(const Section& section);

/// What SECTIONS, none of which is a job's own, say; complete or not.
base::Result<Meta> meta_of(std::vector<Section> sections);
/// Whether the queue itself adds sections of that NAME to jobs.
bool is_of_jobs(std::string_view name);

/// TEXT as a line: control characters and what is no UTF-8 escaped, and cut to MOST bytes.
std::string one_line(std::string_view text, std::size_t most);

}  // namespace quarry::changes
