// The command line of quarry-changes.
#pragma once

#include <expected>
#include <string>
#include <vector>

namespace quarry::app {

struct ChangesCommandLine {
  std::string kind;
  std::string path;   // a repository, or a folder of repositories
  std::string queue;  // the queue's folder, for a single repository
  std::string courier;
  bool has_notices = false;
  std::vector<std::string> peers;  // NAME=NUMBER
  std::vector<std::string> settings;
  bool is_folder = false;
  bool is_once = false;
};

/// Parses ARGV. Returns an exit code after printing --help, --version or an error message.
std::expected<ChangesCommandLine, int> parse_changes_command_line(int argc, char** argv);

}  // namespace quarry::app
