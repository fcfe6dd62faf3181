// The command line of quarry-courier.
#pragma once

#include <expected>
#include <string>

namespace quarry::app {

/// The configuration file that ARGV names; or the exit code, after --help, --version or an error, each of which is
/// answered.
std::expected<std::string, int> parse_courier_command_line(int argc, char** argv);

}  // namespace quarry::app
