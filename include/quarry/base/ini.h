// The configuration file format: sections of "key = value" lines.
//
//   ; a comment, and so is a line that begins with #
//   [section]
//   key = value            ; a comment may follow after a space
//   key = "a; b \" \\ "    quotes keep spaces, ; and # ; inside them \" and \\ are escapes
//
// Values may be as long as the file. Keys keep their order and line numbers, for error messages. A
// key that ends in [] is a list with one value per line. Any other duplicate key in a section is a
// mistake, and so are a duplicate section and any other kind of line. The parser reports all
// mistakes of a file at once.
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
  std::vector<IniMistake> mistakes;  // in line order; the sections contain the valid entries
};

IniFile parse_ini(std::string_view text);

/// Returns a line, with its newline, that parse_ini() reads as this entry. VALUE must not contain a
/// newline or NUL.
std::string ini_line(std::string_view key, std::string_view value);

}  // namespace quarry::base
