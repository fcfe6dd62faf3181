// The configuration of a peer: section [peer NAME].
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/result.h"

namespace quarry::backoffice {

enum class PeerDirection : std::uint8_t { kBoth, kPush, kPull };
inline constexpr std::array<std::pair<std::string_view, PeerDirection>, 3> kPeerDirections{
    {{"push", PeerDirection::kPush},
     {"pull", PeerDirection::kPull},
     {"both", PeerDirection::kBoth}}};
std::string_view name_of(PeerDirection direction);
std::optional<PeerDirection> peer_direction_named(std::string_view name);

struct PeerOptions {
  std::string name = {};
  /// The peer's location: a URL without a password, or the name of a remote (see `fossil remote`).
  std::string url = {};
  std::string remote = {};
  std::string password_file = {};  // "": the remote's password in the repository, if any
  std::string ca_file = {};
  PeerDirection direction = PeerDirection::kBoth;
  bool with_private = false;
  bool with_unversioned = false;
  std::chrono::milliseconds interval{60'000};
  std::chrono::milliseconds retry_delay{10'000};
  std::chrono::milliseconds retry_max_delay{60'000};
  std::chrono::milliseconds timeout{60'000};      // limit on the time without input from the peer
  std::chrono::milliseconds max_time{3'600'000};  // limit on the duration of a sync

  bool pushes() const { return direction != PeerDirection::kPull; }
  bool pulls() const { return direction != PeerDirection::kPush; }
};

/// Checks that NAME is a valid peer name: 1 to 64 letters, digits, '-', '_' and '.'. Errors:
/// kInvalid.
Result<void> check_peer_name(std::string_view name);

}  // namespace quarry::backoffice
