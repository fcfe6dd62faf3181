#include "quarry/courier/address_rules.h"

#include <algorithm>

#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"

namespace quarry::courier {
namespace {

using base::AddressSet;
using base::SocketAddress;

AddressSet set_of(const std::vector<std::string>& entries) {
  return AddressSet::parse(entries).value();
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), base::ascii_lower);
  return result;
}

bool is_host_name(std::string_view text) {
  const bool has_letter = std::ranges::any_of(
      text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return has_letter && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.';
         });
}

}  // namespace

bool is_public(const SocketAddress& address) {
  static const AddressSet kIpv4 = set_of({"0.0.0.0/0"});
  static const AddressSet kSpecial =
      set_of({"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
              "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
              "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
              // IETF protocols (such as Teredo), documentation, 6to4, documentation.
              "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"});
  static const AddressSet kGlobalIpv6 = set_of({"2000::/3"});
  return (kIpv4.contains(address) || kGlobalIpv6.contains(address)) && !kSpecial.contains(address);
}

Result<AddressRules> AddressRules::parse(std::span<const std::string> entries) {
  AddressRules rules;
  std::vector<std::string> networks;
  for (const std::string& entry : entries) {
    if (is_host_name(entry)) {
      rules.names_.push_back(lower(entry));
    } else if (AddressSet::parse({&entry, 1})) {
      networks.push_back(entry);
    } else {
      return fail(ErrorCode::kInvalid, "\"{}\" is not an address, a network or the name of a host",
                  base::printable(entry));
    }
  }
  QUARRY_TRY_ASSIGN(rules.networks_, AddressSet::parse(networks));
  return rules;
}

bool AddressRules::allows(std::string_view host, const SocketAddress& address) const {
  return is_public(address) || networks_.contains(address) ||
         std::ranges::find(names_, lower(host)) != names_.end();
}

}  // namespace quarry::courier
