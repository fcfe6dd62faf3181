// The commands of `quarry peer`. They return an exit code (common/exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/backoffice/peer_options.h"
#include "status/server_place.h"

namespace quarry::app {

/// What the server says when it has a repository synced with one of its peers.
struct PeerRunArguments {
  std::string file;
  backoffice::PeerOptions peer;
  std::string courier;                      // its socket
  std::string served_name;                  // of the repository, for events; "": its file's
  std::optional<std::uint32_t> backoffice;  // what the server calls the repository
  std::vector<std::uint32_t> siblings;      // and its other peers
};
int run_peer_run(const PeerRunArguments& arguments);

struct PeerArguments {
  std::string config = kUsualConfig;
  std::vector<std::string> names;  // of peers, or repository files
  bool as_json = false;
};
int run_peer_sync(const PeerArguments& arguments);
int run_peer_status(const PeerArguments& arguments);

}  // namespace quarry::app
