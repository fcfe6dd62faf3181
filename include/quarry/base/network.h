// The network that an address belongs to when clients are counted: an IPv4 address itself, or the
// /64 of an IPv6 address, since a client usually controls all addresses of its /64.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// The network of IP, an address in text: 4 bytes, or the first 8 of an IPv6 address. An
/// IPv4-mapped address counts as its IPv4 address. Any other text is returned unchanged.
std::string network_of(std::string_view ip);

}  // namespace quarry::base
