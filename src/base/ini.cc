#include "quarry/base/ini.h"

#include <fmt/core.h>

#include "quarry/base/blanks.h"
#include "quarry/base/escape.h"
#include "quarry/base/result.h"
#include "quarry/base/split.h"

namespace quarry::base {
namespace {

constexpr std::string_view kSpaces = " \t\r\f\v";

std::string_view trim(std::string_view text) {
  return trim_blanks(text, kSpaces);
}

bool begins_comment(char c) {
  return c == ';' || c == '#';
}

/// Returns TEXT without its comment, which starts with ; or # after a space. As in PHP-FPM, a ; at
/// the end of the value is also removed.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool after_space = i == 0 || kSpaces.find(text[i - 1]) != std::string_view::npos;
    const bool is_last = text[i] == ';' && i + 1 == text.size();
    if (is_last || (after_space && begins_comment(text[i]))) return trim(text.substr(0, i));
  }
  return text;
}

Result<std::string> quoted_value(std::string_view text) {
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    const bool is_escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (is_escape) ++i;
    value += text[i];
  }
  if (i >= text.size()) return fail(ErrorCode::kInvalid, "the quoted value has no closing \"");
  const std::string_view rest = trim(text.substr(i + 1));
  if (!rest.empty() && !begins_comment(rest.front())) {
    return fail(ErrorCode::kInvalid, "\"{}\" follows the quoted value", printable(rest));
  }
  return value;
}

class Reader {
 public:
  explicit Reader(IsListKey is_list) : is_list_(is_list) {}

  IniFile read(std::string_view text) {
    // Some editors start a file with a byte order mark.
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty()) {
      ++line_;
      read_line(trim(take_until(text, '\n')));
    }
    return std::move(file_);
  }

 private:
  void mistake(std::string message) {
    IniMistake& added = file_.mistakes.emplace_back();
    added.line = line_;
    added.message = std::move(message);
  }

  void read_line(std::string_view line) {
    if (line.empty() || begins_comment(line.front())) return;
    if (line.find('\0') != std::string_view::npos) return mistake("the line contains a NUL");
    if (line.front() == '[') return read_section(without_comment(line));
    read_entry(line);
  }

  void read_section(std::string_view line) {
    in_section_ = false;
    seen_section_ = true;
    if (line.back() != ']') return mistake("a section must be written as [NAME]");
    const std::string_view name = trim(line.substr(1, line.size() - 2));
    if (name.empty() || name.find_first_of("[]\"") != std::string_view::npos) {
      return mistake("a section must be written as [NAME]");
    }
    for (const IniSection& section : file_.sections) {
      if (section.name != name) continue;
      return mistake(fmt::format("[{}] already exists on line {}", name, section.line));
    }
    file_.sections.push_back({std::string(name), line_, {}});
    in_section_ = true;
  }

  void read_entry(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      // The line is not shown, because it could be a part of a secret.
      return mistake("the line is neither [section] nor key = value");
    }
    const std::string_view key = trim(line.substr(0, equals));
    if (key.empty()) return mistake("the key before = is missing");
    if (!in_section_) {
      // If this key follows an invalid section line, that line was already reported.
      if (!seen_section_) mistake(fmt::format("{} is before the first [section]", key));
      return;
    }
    IniSection& section = file_.sections.back();
    for (const IniEntry& entry : section.entries) {
      if (entry.key != key || key.ends_with("[]") || key == "include") continue;
      if (is_list_ != nullptr && is_list_(section.name, key)) continue;
      return mistake(fmt::format("{} is already set on line {}", key, entry.line));
    }
    const std::string_view text = trim(line.substr(equals + 1));
    if (text.empty() || text.front() != '"') {
      section.entries.push_back({std::string(key), std::string(without_comment(text)), line_});
      return;
    }
    auto value = quoted_value(text);
    if (!value) return mistake(value.error().message);
    section.entries.push_back({std::string(key), std::move(*value), line_});
  }

  IsListKey is_list_;
  IniFile file_;
  int line_ = 0;
  bool in_section_ = false;
  bool seen_section_ = false;
};

}  // namespace

IniFile parse_ini(std::string_view text, IsListKey is_list) {
  return Reader(is_list).read(text);
}

std::string ini_line(std::string_view key, std::string_view value) {
  const bool is_plain = !value.empty() && trim(value) == value && value.front() != '"' &&
                        without_comment(value) == value;
  if (is_plain) return fmt::format("{} = {}\n", key, value);
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("{} = \"{}\"\n", key, quoted);
}

}  // namespace quarry::base
