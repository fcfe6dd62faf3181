#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<ReplicaCommandLine, int> parse_replica_command_line(int argc, char** argv) {
  ReplicaCommandLine line;
  CLI::App cli("Replicate repositories to the other hosts of a group", "quarry-replica");
  cli.set_version_flag("--version", "quarry-replica " QUARRY_VERSION);
  cli.add_option("-c,--config", line.config, "Configuration file of quarryd")->required();
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
