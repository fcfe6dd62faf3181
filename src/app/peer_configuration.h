// The directives of [peer NAME]. They are used by quarryd, which checks them and starts the syncs,
// and by `quarry peer`. Each directive is defined in one place, with its type and the field that it
// sets. The field contains the default value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quarry/backoffice/peer_options.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct PeerSectionOptions {
  std::string pool;        // pool that serves the repository and whose user syncs; "": the only
                           // pool
  std::string repository;  // name in the pool's folder, or a path; "": the pool's only repository
  backoffice::PeerOptions peer;
};

/// Returns a new options object for the section NAME, or null if it is not a peer's section.
std::shared_ptr<master::CarriedOptions> peer_section(const std::string& name);

/// A peer, with what the rest of the configuration says about it.
struct ConfiguredPeer {
  backoffice::PeerOptions options;
  std::string pool;
  std::filesystem::path file;  // the repository file
  /// The name under which the pool serves the repository if IS_SERVED; "" if it is the only
  /// repository.
  std::string name;
  bool is_served = false;
  std::uint32_t number =
      0;  // identifies the peer in messages to the master; does not change on a reload
};

/// The peers in CONFIG, in file order, and the mistakes, each as "FILE:LINE: …".
struct PeersReading {
  std::vector<ConfiguredPeer> peers;  // valid only if there are no mistakes
  std::vector<std::string> mistakes;
};
PeersReading peers_in(const master::Config& config);

}  // namespace quarry::app
