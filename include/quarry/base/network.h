// Determines the network of a client's address. Limits per client count all clients of a network
// together. For IPv4, the network is the address itself. For IPv6, it is the /64, because a client
// usually controls all addresses of its /64.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// Returns the network of IP, an address in text form, as 4 bytes for IPv4 and as the first 8 bytes
/// for IPv6. An IPv4-mapped address counts as its IPv4 address. Any other text is returned
/// unchanged.
std::string network_of(std::string_view ip);

}  // namespace quarry::base
