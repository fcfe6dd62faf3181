// The configuration file format: sections of "key = value" lines.
//
//   ; a comment, and so is a line that begins with #
//   [section]
//   key = value            ; a comment may follow after a space
//   key = "a; b \" \\ "    quotes keep spaces, ; and # ; inside them \" and \\ are escapes
//
// Values may be as long as the file. Keys keep their order and line numbers, so that whoever gives
// them a meaning can point at the line. A key that ends in [] is a list, one value a line. Any
// other key twice in a section, a section twice, and whatever is none of the forms above is a
// mistake; all of them are found in one pass.
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
  std::vector<IniMistake> mistakes;  // in line order; the sections hold what was right
};

IniFile parse_ini(std::string_view text);

/// The line, with its end, that parse_ini() reads as this entry. VALUE has no line end and no NUL.
std::string ini_line(std::string_view key, std::string_view value);

}  // namespace quarry::base
