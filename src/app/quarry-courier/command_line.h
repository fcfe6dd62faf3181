// The command line of quarry-courier.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace quarry::app {

/// Either `config` is set, or `folder` and `socket` are set. In the second case, the program runs
/// the hooks of a pool.
struct CourierCommandLine {
  std::string config;
  // The server sets the following options, so that the pool's user does not have to read the
  // configuration.
  std::string folder;                // the folder of waiting hooks, named like the pool
  std::string socket;                // the socket that accepts hooks
  std::string fossil;                // the program that replaces %F
  std::int64_t timeout = 0;          // time limit of a hook in milliseconds
  std::uint64_t max_disk_space = 0;  // bytes; 0: unlimited
  bool webhooks = false;             // whether to deliver to webhooks of repositories
  std::vector<std::string> webhooks_allow;
  /// The destination to which the program delivers logs instead of events.
  std::string destination;
  std::vector<std::string> logs;  // NAME=FIFO
  std::string figures;            // the file for figures about the delivery of logs
};

/// Parses ARGV. Returns the options. Returns an exit code after printing --help, --version or an
/// error message.
std::expected<CourierCommandLine, int> parse_courier_command_line(int argc, char** argv);

}  // namespace quarry::app
