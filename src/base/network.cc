#include "quarry/base/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>

namespace quarry::base {
namespace {

// Bytes, of which the first so many are meant.
std::string prefix_of(std::string_view ip, std::size_t of_ipv4, std::size_t of_ipv6) {
  const std::string text(ip);
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return std::string(bytes.data(), of_ipv4);
  }
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  const std::string_view whole(bytes.data(), bytes.size());
  if (whole.starts_with(kMapped)) return std::string(whole.substr(kMapped.size(), of_ipv4));
  return std::string(whole.substr(0, of_ipv6));
}

}  // namespace

std::string network_of(std::string_view ip) {
  return prefix_of(ip, 4, 8);
}

std::string wide_network_of(std::string_view ip) {
  return prefix_of(ip, 2, 4);
}

}  // namespace quarry::base
