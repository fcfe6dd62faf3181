// A set of IP addresses and networks (CIDR). It holds the proxies whose X-Forwarded-For is trusted.
// The set is read from the configuration and checked for every request.
//
//   127.0.0.1   10.0.0.0/8   ::1   fd00::/8
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::gateway {

class AddressSet {
 public:
  /// Creates an empty set.
  AddressSet() = default;
  /// Returns the set of ENTRIES, each an address or ADDRESS/BITS. Errors: kInvalid; the message
  /// names the invalid entry.
  static base::Result<AddressSet> parse(std::span<const std::string> entries);

  /// Returns whether ADDRESS is in the set. An IPv4-mapped address counts as its IPv4 address. A
  /// Unix socket is never in a set.
  bool contains(const base::SocketAddress& address) const;

 private:
  /// Addresses are stored as IPv6, with IPv4 addresses mapped. BITS is the length of the prefix.
  struct Network {
    std::array<std::uint8_t, 16> address{};
    unsigned bits = 0;
  };
  static base::Result<Network> parse_entry(std::string_view entry);

  std::vector<Network> networks_;
};

}  // namespace quarry::gateway
