#include "quarry/backoffice/peer_options.h"

#include <algorithm>

#include "quarry/base/escape.h"

namespace quarry::backoffice {
namespace {

constexpr std::size_t kMaxName = 64;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string_view name_of(PeerDirection direction) {
  return std::ranges::find(kPeerDirections, direction, [](auto& one) { return one.second; })->first;
}

std::optional<PeerDirection> peer_direction_named(std::string_view name) {
  const auto at = std::ranges::find(kPeerDirections, name, [](auto& one) { return one.first; });
  return at == kPeerDirections.end() ? std::nullopt : std::optional(at->second);
}

Result<void> check_peer_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, is_name_character)) {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              "invalid peer name \"{}\": use letters, digits, '-', '_' and '.', at "
              "most {} of them",
              base::printable(name), kMaxName);
}

}  // namespace quarry::backoffice
