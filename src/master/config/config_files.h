// A configuration of several files: those that `include = PATTERN` names are read where it stands.
//
// Lines of all files are numbered through, so that a line alone says in which file it is: each file
// has kLinesPerFile of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/ini.h"

namespace quarry::master {

constexpr int kLinesPerFile = 1 << 20;  // more than a file of the largest size has

struct ConfigFiles {
  std::vector<std::string> paths;  // the first is the one that was asked for
  base::IniFile merged;
  std::vector<base::IniMistake> remarks;  // patterns that nothing matches

  /// "FILE:LINE" of a line of MERGED.
  std::string place_of(int line) const;
  /// "FILE:LINE: MESSAGE", as it may stand in a log and on a terminal, whatever a value holds that
  /// is quoted in it.
  std::string with_location(int line, std::string_view message) const;
};

/// PATH and what it includes. What is wrong with any of them is among the mistakes.
ConfigFiles read_config_files(const std::filesystem::path& path);
/// The same of TEXT, which is said to be that of PATH.
ConfigFiles parse_config_files(std::string_view text, const std::string& path);

}  // namespace quarry::master
