#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<ChangesCommandLine, int> parse_changes_command_line(int argc, char** argv) {
  ChangesCommandLine line;
  CLI::App cli("Run a daemon for change-set queues: check submissions, order them, or land them",
               "quarry-changes");
  cli.set_version_flag("--version", "quarry-changes " QUARRY_VERSION);
  cli.add_option("KIND", line.kind, "Kind of daemon: prequeue, queueing or execution")
      ->required()
      ->check(CLI::IsMember({"prequeue", "queueing", "execution"}));
  cli.add_option("PATH", line.path, "Repository file, or with --folder a folder of repositories")
      ->required();
  auto* folder = cli.add_flag("--folder", line.is_folder, "Serve all repositories below PATH");
  cli.add_option("--queue", line.queue, "Folder of the queue (default: PATH.changes)")
      ->excludes(folder);
  cli.add_option("--set", line.settings,
                 "Directive of quarry.conf(5), as DIRECTIVE=VALUE; may be repeated")
      ->allow_extra_args(false);
  cli.add_option("--courier", line.courier, "Path of the courier's socket, for events");
  cli.add_flag("--notices", line.has_notices,
               "Also send notices to submitters whose change sets did not land");
  cli.add_option("--peer", line.peers,
                 "Peer to sync with when a change set lands in the repository NAME, as NAME=NUMBER "
                 "with the server's number of the peer; may be repeated")
      ->allow_extra_args(false);
  auto* replica =
      cli.add_option("--replica", line.replica,
                     "Path of quarry-replica's socket, if the repositories are replicated");
  cli.add_option("--pool", line.pool, "Name of the pool of the replicated repositories")
      ->needs(replica);
  cli.add_option("--replica-timeout", line.replica_timeout,
                 "Time for quarry-replica to answer, in milliseconds")
      ->needs(replica);
  cli.add_flag("--once", line.is_once, "Exit when there is nothing left to do");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
