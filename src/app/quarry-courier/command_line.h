// The command line of quarry-courier.
#pragma once

#include <expected>
#include <string>

namespace quarry::app {

/// Parses ARGV. Returns the path of the configuration file, or an exit code if --help, --version or
/// an error message has been printed.
std::expected<std::string, int> parse_courier_command_line(int argc, char** argv);

}  // namespace quarry::app
