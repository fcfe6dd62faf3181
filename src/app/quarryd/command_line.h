// The command line of quarryd.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace quarry::app {

struct CommandLine {
  std::string config;
  std::string prefix;
  std::string serve;
  std::string http;
  std::string https;
  std::string certificate;  // with https, like `key`
  std::string key;
  std::string user;
  std::size_t children = 0;
  bool has_changes = false;
  bool has_no_pages = false;
  int test = 0;  // number of -t options; two also print the configuration
  bool daemonize = false;
  bool in_foreground = false;      // overrides `daemonize` in the configuration
  std::vector<std::string> words;  // the whole command line
};

/// Parses ARGV. Returns an exit code after printing --help, --version or an error message.
std::expected<CommandLine, int> parse_command_line(int argc, char** argv);

}  // namespace quarry::app
