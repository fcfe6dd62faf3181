#include "kinds.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace quarry::master {

Shown IpAddresses::show(const std::vector<base::SocketAddress>& addresses) {
  std::vector<std::string> texts;
  for (const base::SocketAddress& address : addresses) texts.push_back(address.ip());
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
