// The command line of quarry-changes.
#pragma once

#include <cstdint>
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
  std::string replica;  // socket of quarry-replica; empty: the repositories are not replicated
  std::string pool;
  std::int64_t replica_timeout = 0;  // milliseconds
  std::vector<std::string> peers;    // NAME=NUMBER
  std::vector<std::string> settings;
  bool is_folder = false;
  bool is_once = false;
};

/// Parses ARGV. Returns an exit code after printing --help, --version or an error message.
std::expected<ChangesCommandLine, int> parse_changes_command_line(int argc, char** argv);

}  // namespace quarry::app
