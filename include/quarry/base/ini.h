// The configuration file format: sections of "key = value" lines.
//
//   ; comment; a line that begins with # is also a comment
//   [section]
//   key = value            ; a comment after a space
//   key = "a; b \" \\ "    quotes keep spaces, ; and # ; inside them \" and \\ are escapes
//
// The length of a value is not limited. Keys keep their order and line numbers, for error messages.
// Keys that end in [], and the keys that the caller selects (IsListKey), are lists with one value
// per line. Duplicate keys (except lists), duplicate sections and malformed lines are mistakes. The
// parser reports all mistakes in a file at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::base {

struct IniEntry {
  std::string key;
  std::string value;
  int line = 0;
};

struct IniSection {
  std::string name;
  int line = 0;
  std::vector<IniEntry> entries;
};

struct IniMistake {
  int line = 0;
  std::string message;
};

struct IniFile {
  std::vector<IniSection> sections;
  std::vector<IniMistake> mistakes;  // sorted by line
};

/// Returns whether SECTION may have several lines with KEY.
using IsListKey = bool (*)(std::string_view section, std::string_view key);

/// Parses TEXT. IS_LIST can be null.
IniFile parse_ini(std::string_view text, IsListKey is_list = nullptr);

/// Returns the line of the file, with its newline, for KEY and VALUE. VALUE must not contain a
/// newline or NUL.
std::string ini_line(std::string_view key, std::string_view value);

}  // namespace quarry::base
