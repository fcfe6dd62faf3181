// A set of IP addresses and networks (CIDR): the proxies whose X-Forwarded-For is trusted. It comes
// from the configuration and is checked for every request.
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
  /// The empty set.
  AddressSet() = default;
  /// The set of ENTRIES, each an address or ADDRESS/BITS. Errors: kInvalid, naming the entry.
  static base::Result<AddressSet> parse(std::span<const std::string> entries);

  /// Whether ADDRESS is in the set. An IPv4-mapped address counts as its IPv4 address; a Unix socket
  /// is never in a set.
  bool contains(const base::SocketAddress& address) const;

 private:
  /// Addresses are stored as IPv6, with IPv4 addresses mapped; BITS is a prefix of these 16 bytes.
  struct Network {
    std::array<std::uint8_t, 16> address{};
    unsigned bits = 0;
  };
  static base::Result<Network> parse_entry(std::string_view entry);

  std::vector<Network> networks_;
};

}  // namespace quarry::gateway
