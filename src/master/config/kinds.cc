#include "quarry/master/kinds.h"

#include <sys/resource.h>

#include <algorithm>

namespace quarry::master {

Shown IpAddresses::show(const std::vector<base::SocketAddress>& addresses) {
  std::vector<std::string> texts(addresses.size());
  std::ranges::transform(addresses, texts.begin(), &base::SocketAddress::ip);
  return Networks::show(texts);
}

Shown Networks::show(const std::vector<std::string>& networks) {
  std::string list;
  for (const std::string& network : networks) list += (list.empty() ? "" : ", ") + network;
  return list.empty() ? Shown() : Shown{list};
}

Shown CoreLimit::show(std::optional<std::uint64_t> limit) {
  if (!limit) return {};
  return {*limit == RLIM_INFINITY ? "unlimited" : std::to_string(*limit)};
}

}  // namespace quarry::master
