// The addresses to which the webhooks of repositories may connect. An administrator of a repository
// must not reach services that only this machine or its network can reach. Therefore, only public
// addresses are allowed, plus the addresses and names that the operator lists.
//
// The rules are applied to the address of each connection, after name resolution, so DNS rebinding
// cannot evade them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/address_set.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::courier {

class AddressRules {
 public:
  /// Allows public addresses and ENTRIES: addresses, networks (ADDRESS/BITS) and names of hosts.
  /// Errors: kInvalid; the message contains the entry.
  static Result<AddressRules> parse(std::span<const std::string> entries);

  /// Returns whether a webhook whose URL contains HOST may connect to ADDRESS.
  bool allows(std::string_view host, const base::SocketAddress& address) const;

 private:
  base::AddressSet networks_;
  std::vector<std::string> names_;  // in lower case
};

/// Returns whether ADDRESS is an address of the public internet. Returns false for loopback,
/// private, link-local, multicast and other special networks (RFC 6890), and for networks that
/// contain IPv4 addresses (NAT64, 6to4, Teredo).
bool is_public(const base::SocketAddress& address);

}  // namespace quarry::courier
