#include "config_files.h"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "directives.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/result.h"

namespace quarry::master {
namespace {

constexpr std::uintmax_t kMaxFileSize = std::uintmax_t{1} << 20;
constexpr std::size_t kMaxFiles = 1000;

Result<std::string> read_text(const std::filesystem::path& path) {
  const auto unreadable = [&](const std::string& why) {
    return fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), why);
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return unreadable(error.message());
  if (std::filesystem::is_directory(status)) return unreadable("it is a folder");
  // Do not open a FIFO, because the call would wait for a writer.
  if (!std::filesystem::is_regular_file(status)) return unreadable("it is not a regular file");
  std::ifstream file(path, std::ios::binary);
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return unreadable(error.message());
  if (!file) return unreadable("permission denied");
  if (size > kMaxFileSize) {
    return fail(ErrorCode::kLimit, "{}: larger than {} bytes", path.string(), kMaxFileSize);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns whether TEXT is a glob pattern rather than the name of a file. A pattern is allowed to
/// match no files.
bool is_pattern(std::string_view text) {
  return text.find_first_of("*?[{") != std::string_view::npos;
}

/// Error: kIo (a folder exists but cannot be read).
Result<std::vector<std::string>> paths_matching(const std::string& pattern) {
  static thread_local int error;  // glob() passes only the reason to its callback
  error = 0;
  const auto on_error = [](const char*, int reason) {
    if (reason != ENOENT) error = reason;
    return 0;
  };
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_BRACE, on_error, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  errno = error;
  if (error != 0) return fail_errno("cannot read the folder of {}", pattern);
  return paths;
}

/// Returns the replacement for ${REFERENCE}.
Result<std::string> value_of(std::string_view reference) {
  const std::size_t colon = std::min(reference.find(":-"), reference.size());
  const std::string name(reference.substr(0, colon));
  const char* found = std::getenv(name.c_str());
  if (colon < reference.size() && (found == nullptr || *found == '\0')) {
    return std::string(reference.substr(colon + 2));
  }
  if (found == nullptr) {
    return fail(ErrorCode::kInvalid,
                "${{{0}}}: this environment variable is not set; ${{{0}:-TEXT}} sets a default",
                base::printable(name));
  }
  std::string value = found;
  if (value.find("${") != value.npos || value.find("$pool") != value.npos ||
      value.find('\n') != value.npos) {
    return fail(ErrorCode::kInvalid,
                "${{{}}}: the value of this variable must not contain $pool, ${{ or a newline",
                base::printable(name));
  }
  return value;
}

/// Returns VALUE with its references expanded. ${NAME} is replaced by the variable. ${NAME:-TEXT}
/// is replaced by TEXT if the variable is unset or empty. Errors: kInvalid (the variable is not
/// set, or its value contains $pool, ${ or a newline).
Result<std::string> with_environment(std::string_view value) {
  std::string text;
  for (;;) {
    const std::size_t start = std::min(value.find("${"), value.size());
    const std::size_t end = value.find('}', start);
    text += value.substr(0, start);
    if (start == value.size()) return text;
    if (end == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "${ is not closed by }");
    }
    QUARRY_TRY_ASSIGN(const std::string found, value_of(value.substr(start + 2, end - start - 2)));
    text += found;
    value.remove_prefix(end + 1);
  }
}

class ConfigReader {
 public:
  void add(std::string_view text, const std::string& path) {
    const int first = static_cast<int>(files_.paths.size()) * kLinesPerFile;
    files_.paths.push_back(path);
    being_read_.push_back(path);
    base::IniFile parsed = base::parse_ini(text, may_repeat);
    for (base::IniMistake& mistake : parsed.mistakes) {
      files_.merged.mistakes.push_back({first + mistake.line, std::move(mistake.message)});
    }
    for (base::IniSection& section : parsed.sections) {
      section.line += first;
      std::vector<base::IniEntry> includes;
      std::vector<base::IniEntry> entries;
      for (base::IniEntry& entry : section.entries) {
        entry.line += first;
        auto value = with_environment(entry.value);
        if (!value) {
          complain(entry.line, fmt::format("{}: {}", entry.key, value.error().message));
          // Keep the value, because the directive would otherwise also be reported as missing.
          value = entry.value;
        }
        entry.value = std::move(*value);
        (entry.key == "include" ? includes : entries).push_back(std::move(entry));
      }
      section.entries = std::move(entries);
      add_section(std::move(section));
      for (const base::IniEntry& include : includes) add_matching(include, path);
    }
    being_read_.pop_back();
  }

  ConfigFiles take() { return std::move(files_); }

 private:
  void add_section(base::IniSection section) {
    // Only [global] can occur several times: every file can have this section.
    const auto same =
        std::ranges::find(files_.merged.sections, section.name, &base::IniSection::name);
    if (section.name != "global" && same != files_.merged.sections.end()) {
      return complain(section.line, fmt::format("[{}] already exists at {}", section.name,
                                                files_.place_of(same->line)));
    }
    files_.merged.sections.push_back(std::move(section));
  }

  void add_matching(const base::IniEntry& include, const std::string& includer) {
    if (include.value.empty()) return complain(include.line, "include: the file name is missing");
    const auto folder = std::filesystem::path(includer).parent_path();
    const std::string pattern = (folder / include.value).string();
    auto found = paths_matching(pattern);
    if (!found) return complain(include.line, "include: " + found.error().message);
    std::vector<std::string>& paths = *found;
    // If the name is not a pattern, the file must exist. Add the missing file, so that reading it
    // reports the error.
    if (paths.empty() && !is_pattern(include.value)) paths.push_back(pattern);
    if (paths.empty()) {
      files_.remarks.push_back({include.line, fmt::format("include: no file matches {}", pattern)});
    }
    for (const std::string& path : paths) {
      if (is_being_read(path)) {
        complain(include.line, fmt::format("include: {} includes itself", path));
        continue;
      }
      if (files_.paths.size() >= kMaxFiles) {
        return complain(include.line, fmt::format("include: more than {} files", kMaxFiles));
      }
      const auto text = read_text(path);
      if (!text) {
        complain(include.line, "include: " + text.error().message);
        continue;
      }
      add(*text, path);
    }
  }

  bool is_being_read(const std::string& path) const {
    return std::ranges::any_of(being_read_, [&](const std::string& other) {
      std::error_code error;
      return std::filesystem::equivalent(path, other, error);
    });
  }

  void complain(int line, std::string message) {
    files_.merged.mistakes.push_back({line, std::move(message)});
  }

  ConfigFiles files_;
  std::vector<std::string> being_read_;  // chain of includes, starting with the main file
};

}  // namespace

std::string ConfigFiles::place_of(int line) const {
  if (line == 0) return paths.front();
  return fmt::format("{}:{}", paths[static_cast<std::size_t>(line / kLinesPerFile)],
                     line % kLinesPerFile);
}

std::string ConfigFiles::with_location(int line, std::string_view message) const {
  constexpr std::size_t kLongest = 1000;
  std::string text = place_of(line) + ": ";
  while (!message.empty()) {
    if (text.size() > kLongest) return text + "...";
    base::append_message_character(text, message);
  }
  return text;
}

ConfigFiles parse_config_files(std::string_view text, const std::string& path) {
  ConfigReader reader;
  reader.add(text, path);
  return reader.take();
}

ConfigFiles read_config_files(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (text) return parse_config_files(*text, path.string());
  ConfigFiles none;
  none.paths.push_back(path.string());
  none.merged.mistakes.push_back({-1, text.error().message});
  return none;
}

}  // namespace quarry::master
