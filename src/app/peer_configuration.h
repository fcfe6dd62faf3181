// The directives of [peer NAME]. quarryd uses them to check the configuration and to start the
// syncs. `quarry peer` uses them, too. Each directive is defined in one place, with its type and
// its field. The default is the initial value of the field.
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
  std::string pool;        // pool of the repository; "": the only pool
  std::string repository;  // name in the pool's folder, or a path; "": the pool's only repository
  backoffice::PeerOptions peer;
};

/// Returns a new options object for the section NAME, or null if the section does not configure a
/// peer.
std::shared_ptr<master::CarriedOptions> peer_section(const std::string& name);

/// Returns the path in URL, the `url` of a section [peer NAME], or "" if it is not a file's URL.
std::string file_in(std::string_view url);

/// Returns the program after `?fossil=` in a file's URL, or "". The server executes this program to
/// read the file.
std::string program_in(std::string_view url);

/// A peer, with related values from the rest of the configuration.
struct ConfiguredPeer {
  backoffice::PeerOptions options;
  std::string pool;
  std::filesystem::path file;
  /// If `is_served`, the name of the repository in the pool, or "" if the pool serves one file.
  std::string name;
  bool is_served = false;
  std::uint32_t number =
      0;  // number of the peer in messages to the master; reloads do not change it
};

/// The peers in CONFIG, in file order, and the mistakes. Each mistake has the form "FILE:LINE: …".
struct PeersReading {
  std::vector<ConfiguredPeer> peers;  // valid only without mistakes
  std::vector<std::string> mistakes;
};
PeersReading peers_in(const master::Config& config);

}  // namespace quarry::app
