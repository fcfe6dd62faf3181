#include "quarry/base/address_set.h"

#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "quarry/base/number.h"

namespace quarry::base {
namespace {

constexpr unsigned kMappedBits = 96;

std::optional<std::array<std::uint8_t, 16>> as_ipv6(const SocketAddress& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (address.family() == AF_INET6) {
    sockaddr_in6 in6{};
    std::memcpy(&in6, address.get(), sizeof in6);
    std::memcpy(bytes.data(), &in6.sin6_addr, bytes.size());
    return bytes;
  }
  if (address.family() != AF_INET) return std::nullopt;
  sockaddr_in in{};
  std::memcpy(&in, address.get(), sizeof in);
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(bytes.data() + 12, &in.sin_addr, 4);
  return bytes;
}

bool same_prefix(const std::array<std::uint8_t, 16>& a, const std::array<std::uint8_t, 16>& b,
                 unsigned bits) {
  const std::size_t whole = bits / 8;
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff00U >> (bits % 8));
  return ((a[whole] ^ b[whole]) & mask) == 0;
}

}  // namespace

Result<AddressSet::Network> AddressSet::parse_entry(std::string_view entry) {
  const std::size_t slash = entry.find('/');
  QUARRY_TRY_ASSIGN(const auto address, SocketAddress::parse_ip(entry.substr(0, slash)));
  const bool ipv4 = address.family() == AF_INET;
  const unsigned limit = ipv4 ? 32 : 128;
  const auto bits =
      slash == std::string_view::npos ? limit : parse_number<unsigned>(entry.substr(slash + 1));
  if (!bits || *bits > limit) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not a network (ADDRESS/BITS, at most {} bits)",
                entry, limit);
  }
  return Network{.address = as_ipv6(address).value_or(std::array<std::uint8_t, 16>{}),
                 .bits = ipv4 ? *bits + kMappedBits : *bits};
}

Result<AddressSet> AddressSet::parse(std::span<const std::string> entries) {
  AddressSet set;
  for (const std::string& entry : entries) {
    QUARRY_TRY_ASSIGN(auto network, parse_entry(entry));
    set.networks_.push_back(network);
  }
  return set;
}

bool AddressSet::contains(const SocketAddress& address) const {
  if (networks_.empty()) return false;
  const auto bytes = as_ipv6(address);
  if (!bytes) return false;
  for (const Network& network : networks_) {
    if (same_prefix(*bytes, network.address, network.bits)) return true;
  }
  return false;
}

}  // namespace quarry::base
