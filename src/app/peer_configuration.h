// The words of [peer NAME]: for quarryd, which checks them and starts the syncs, and for `quarry
// peer`. Each word is written once: with its kind of value and where it goes; its default is there.
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
  std::string pool;  // whose user syncs, and whose repository it is; "": there is only one pool
  std::string repository;  // its name in the pool's folder, or its file; "": the pool's only one
  backoffice::PeerOptions peer;
};

/// What the words of the section called NAME go into; null: it is no peer's.
std::shared_ptr<master::CarriedOptions> peer_section(const std::string& name);

/// A peer, with all that the rest of the configuration says of it.
struct ConfiguredPeer {
  backoffice::PeerOptions options;
  std::string pool;
  std::filesystem::path file;  // of its repository
  /// What the pool serves that under, where it does: "" is the name of its only one.
  std::string name;
  bool is_served = false;
  std::uint32_t number = 0;  // what workers call it to the master: the same after a reload
};

/// The peers of CONFIG, in their order, and what is wrong with them, "FILE:LINE: …" each.
struct PeersReading {
  std::vector<ConfiguredPeer> peers;  // only to be used when there is no mistake
  std::vector<std::string> mistakes;
};
PeersReading peers_in(const master::Config& config);

}  // namespace quarry::app
