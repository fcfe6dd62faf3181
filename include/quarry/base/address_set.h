// A set of IP addresses and networks (CIDR). The gateway accepts X-Forwarded-For only from a set of
// trusted proxies.
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

namespace quarry::base {

class AddressSet {
 public:
  /// Creates an empty set.
  AddressSet() = default;
  /// Parses ENTRIES, each of the form ADDRESS or ADDRESS/BITS. Errors: kInvalid; the message names
  /// the invalid entry.
  static Result<AddressSet> parse(std::span<const std::string> entries);

  /// Returns whether ADDRESS is in the set. An IPv4-mapped address counts as its IPv4 address.
  /// Returns false for a Unix socket.
  bool contains(const SocketAddress& address) const;

 private:
  /// An IPv6 network. IPv4 addresses are mapped. BITS is the length of the prefix.
  struct Network {
    std::array<std::uint8_t, 16> address{};
    unsigned bits = 0;
  };
  static Result<Network> parse_entry(std::string_view entry);

  std::vector<Network> networks_;
};

}  // namespace quarry::base
