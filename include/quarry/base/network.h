// Which network an address counts for, where clients are counted: an IPv4 address for itself, an
// IPv6 address for its /64, since who has one of those addresses has them all.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// The network of IP, an address in text: 4 bytes, or the first 8 of an IPv6 address. An
/// IPv4-mapped address is its IPv4 address. What is no address is its own network.
std::string network_of(std::string_view ip);

}  // namespace quarry::base
