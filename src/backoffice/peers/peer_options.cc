#include "quarry/backoffice/peer_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "quarry/base/escape.h"

namespace quarry::backoffice {
namespace {

constexpr std::size_t kMaxName = 64;
// In the order of PeerDirection.
constexpr auto kDirections = std::to_array<std::string_view>({"both", "push", "pull"});

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string_view name_of(PeerDirection direction) {
  return kDirections[static_cast<std::size_t>(direction)];
}

std::optional<PeerDirection> peer_direction_named(std::string_view name) {
  const auto at = std::ranges::find(kDirections, name);
  if (at == kDirections.end()) return std::nullopt;
  return static_cast<PeerDirection>(at - kDirections.begin());
}

base::Result<void> check_peer_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, is_name_character)) {
    return {};
  }
  return base::fail(
      base::ErrorCode::kInvalid,
      fmt::format("invalid peer name \"{}\": use letters, digits, '-', '_' and '.', at "
                  "most {} of them",
                  base::printable(name), kMaxName));
}

}  // namespace quarry::backoffice
