// The `quarry peer` commands. Each function returns an exit code (common/exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/backoffice/peer_options.h"
#include "quarry/base/result.h"
#include "status/server_control.h"

namespace quarry::app {

/// The arguments of `quarry peer run`, which the server starts to sync a repository with a peer.
struct PeerRunArguments {
  std::string file;
  backoffice::PeerOptions peer;
  std::string courier;      // path of the courier's socket
  std::string served_name;  // name of the repository in events; "": the name of its file
  std::optional<std::uint32_t> backoffice;  // number of the repository in messages to the master
  std::vector<std::uint32_t> siblings;      // numbers of the repository's other peers
};
int run_peer_run(const PeerRunArguments& arguments);

struct PeerArguments {
  std::string config = kDefaultConfig;
  std::vector<std::string> names;  // names of peers, or paths of repositories
  bool as_json = false;
};
/// Returns the peers in the configuration file CONFIG. Errors: kInvalid if the file is invalid.
Result<std::vector<ConfiguredPeer>> configured_peers(const std::string& config);
int run_peer_sync(const PeerArguments& arguments);
int run_peer_status(const PeerArguments& arguments);

}  // namespace quarry::app
