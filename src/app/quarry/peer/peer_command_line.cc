#include "peer_command_line.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "peer_commands.h"
#include "quarry/backoffice/peer_options.h"

namespace quarry::app {
namespace {

/// Adds an option that sets TIME. On the command line, TIME is in milliseconds.
void add_time(CLI::App& command, const char* name, std::chrono::milliseconds& time) {
  command.add_option_function<std::int64_t>(
      name, [&time](std::int64_t given) { time = std::chrono::milliseconds(given); });
}

/// Adds a hidden command, which the server starts.
void add_peer_run(CLI::App& peer, Run& run) {
  CLI::App* command = peer.add_subcommand("run", "Sync with a peer if it is due")->group("");
  auto& arguments = arguments_of(*command, run, run_peer_run);
  backoffice::PeerOptions& options = arguments.peer;
  command->add_option("FILE", arguments.file)->required();
  command->add_option("--name", options.name)->required();
  command->add_option("--url", options.url);
  command->add_option("--remote", options.remote);
  command->add_option("--password-file", options.password_file);
  command->add_option("--ca-file", options.ca_file);
  command->add_option_function<std::string>("--direction", [&options](const std::string& word) {
    options.direction =
        backoffice::peer_direction_named(word).value_or(backoffice::PeerDirection::kBoth);
  });
  command->add_flag("--private", options.with_private);
  command->add_flag("--uv", options.with_unversioned);
  add_time(*command, "--interval", options.interval);
  add_time(*command, "--retry-delay", options.retry_delay);
  add_time(*command, "--retry-max-delay", options.retry_max_delay);
  add_time(*command, "--timeout", options.timeout);
  add_time(*command, "--max-time", options.max_time);
  command->add_option("--courier", arguments.courier);
  command->add_option("--served-name", arguments.served_name);
  command->add_option("--backoffice", arguments.backoffice);
  command->add_option("--sibling", arguments.siblings);
}

PeerArguments& add_peer_command(CLI::App& peer, Run& run, const char* name, const char* description,
                                int (*action)(const PeerArguments&)) {
  CLI::App* command = peer.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  command->add_option("-c,--config", arguments.config, "The server's configuration")
      ->capture_default_str();
  return arguments;
}

}  // namespace

void add_peer(CLI::App& peer, Run& run) {
  peer.require_subcommand(1);
  auto& synced = add_peer_command(
      peer, run, "sync", "Sync immediately with peers from the configuration", run_peer_sync);
  peer.get_subcommand("sync")->add_option("NAME", synced.names,
                                          "Peers to sync with (default: all)");
  auto& shown =
      add_peer_command(peer, run, "status", "Show the state of each peer", run_peer_status);
  CLI::App* status = peer.get_subcommand("status");
  status->add_option(
      "FILE", shown.names,
      "Show the peers of these repository files (default: the peers in the configuration)");
  status->add_flag("--json", shown.as_json, "Print JSON");
  add_peer_run(peer, run);
}

}  // namespace quarry::app
