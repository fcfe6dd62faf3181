// A peer of a repository, as the configuration has it: [peer NAME].
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::backoffice {

enum class PeerDirection : std::uint8_t { kBoth, kPush, kPull };
std::string_view name_of(PeerDirection direction);
std::optional<PeerDirection> peer_direction_named(std::string_view name);

struct PeerOptions {
  std::string name = {};
  /// Where it is: a URL without a password, or (remote) what the repository calls it: as `fossil
  /// remote` lists them.
  std::string url = {};
  std::string remote = {};
  std::string password_file =
      {};  // "": of a remote, the password that fossil has stored; else none
  std::string ca_file = {};
  PeerDirection direction = PeerDirection::kBoth;
  bool with_private = false;
  bool with_unversioned = false;
  std::chrono::milliseconds interval{60'000};
  std::chrono::milliseconds retry_delay{10'000};
  std::chrono::milliseconds retry_max_delay{60'000};
  std::chrono::milliseconds timeout{60'000};      // of a peer that says nothing
  std::chrono::milliseconds max_time{3'600'000};  // of a whole sync; the rest is for the next

  bool pushes() const { return direction != PeerDirection::kPull; }
  bool pulls() const { return direction != PeerDirection::kPush; }
};

/// Whether NAME may be the name of a peer: letters, digits, '-', '_' and '.', at most 64 of them.
/// Error kInvalid.
base::Result<void> check_peer_name(std::string_view name);

}  // namespace quarry::backoffice
