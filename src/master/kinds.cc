#include "kinds.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace quarry::master {

Shown IpAddresses::show(const std::vector<base::SocketAddress>& addresses) {
  std::vector<std::string> texts(addresses.size());
  std::ranges::transform(addresses, texts.begin(), &base::SocketAddress::ip);
  return Networks::show(texts);
}

Shown Networks::show(const std::vector<std::string>& networks) {
  if (networks.empty()) return {};
  return {fmt::format("{}", fmt::join(networks, ", "))};
}

Shown CoreLimit::show(std::optional<std::uint64_t> limit) {
  if (!limit) return {};
  return {*limit == RLIM_INFINITY ? "unlimited" : std::to_string(*limit)};
}

}  // namespace quarry::master
