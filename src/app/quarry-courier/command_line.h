// The command line of quarry-courier.
#pragma once

#include <expected>
#include <string>

namespace quarry::app {

/// Parses ARGV. Returns the path of the configuration file. Returns an exit code after printing
/// --help, --version or an error message.
std::expected<std::string, int> parse_courier_command_line(int argc, char** argv);

}  // namespace quarry::app
