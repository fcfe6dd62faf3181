#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<std::string, int> parse_courier_command_line(int argc, char** argv) {
  std::string path;
  CLI::App cli("Deliver events to webhooks, mail, programs, logs and files", "quarry-courier");
  cli.set_version_flag("--version", "quarry-courier " QUARRY_VERSION);
  cli.add_option("-c,--config", path, "Configuration file of quarryd")->required();
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return path;
}

}  // namespace quarry::app
