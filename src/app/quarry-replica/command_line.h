// The command line of quarry-replica.
#pragma once

#include <expected>
#include <string>

namespace quarry::app {

struct ReplicaCommandLine {
  std::string config;
};

/// Parses ARGV. Returns the options. Returns an exit code after printing --help, --version or an
/// error message.
std::expected<ReplicaCommandLine, int> parse_replica_command_line(int argc, char** argv);

}  // namespace quarry::app
