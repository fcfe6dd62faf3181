// Reads a configuration from one or more files. `include = PATTERN` inserts the files that match.
// ${NAME} in a value stands for an environment variable of quarryd.
//
// Each file uses a separate range of kLinesPerFile line numbers, so a line number also identifies
// its file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/ini.h"

namespace quarry::master {

constexpr int kLinesPerFile = 1 << 20;  // more than the lines of the largest permitted file

struct ConfigFiles {
  std::vector<std::string> paths;  // the main file first
  base::IniFile merged;
  std::vector<base::IniMistake> remarks;  // patterns that did not match any file

  /// Returns "FILE:LINE" for a line of MERGED.
  std::string place_of(int line) const;
  /// Returns "FILE:LINE: MESSAGE", escaped for logs and terminals, because MESSAGE might contain
  /// values.
  std::string with_location(int line, std::string_view message) const;
};

/// Reads PATH and all files that it includes. Errors are returned as mistakes.
ConfigFiles read_config_files(const std::filesystem::path& path);
ConfigFiles parse_config_files(std::string_view text, const std::string& path);

}  // namespace quarry::master
