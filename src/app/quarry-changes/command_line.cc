#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<ChangesCommandLine, int> parse_changes_command_line(int argc, char** argv) {
  ChangesCommandLine line;
  CLI::App cli(
      "The daemons of change-set queues: what is submitted is looked at, put in order, and "
      "landed.",
      "quarry-changes");
  cli.set_version_flag("--version", "quarry-changes " QUARRY_VERSION);
  cli.add_option("KIND", line.kind, "which of them: prequeue, queueing or execution")
      ->required()
      ->check(CLI::IsMember({"prequeue", "queueing", "execution"}));
  cli.add_option("PLACE", line.path, "the repository file, or with --folder a folder of them")
      ->required();
  auto* folder = cli.add_flag("--folder", line.is_folder, "serve all repositories below PLACE");
  cli.add_option("--queue", line.queue, "the queue's folder (default: PLACE.changes)")
      ->excludes(folder);
  cli.add_option("--set", line.settings, "WORD=VALUE, as in quarry.conf(5)")
      ->allow_extra_args(false);
  cli.add_option("--courier", line.courier, "the socket of the courier, for events");
  cli.add_flag("--notices", line.has_notices,
               "tell it as well where to write to who submitted what did not land");
  cli.add_flag("--once", line.is_once, "end when nothing is left to do");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
