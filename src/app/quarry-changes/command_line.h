// The command line of quarry-changes.
#pragma once

#include <expected>
#include <string>
#include <vector>

namespace quarry::app {

struct ChangesCommandLine {
  std::string kind;
  std::string place;  // a repository, or a folder of them
  std::string queue;  // the queue's folder, of a repository
  std::string courier;
  bool has_notices = false;
  std::vector<std::string> settings;
  bool is_folder = false;
  bool is_once = false;
};

/// What ARGV asks for; or the exit code, after --help, --version or an error, each of which is answered.
std::expected<ChangesCommandLine, int> parse_changes_command_line(int argc, char** argv);

}  // namespace quarry::app
