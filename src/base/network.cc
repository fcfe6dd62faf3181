#include "quarry/base/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>

namespace quarry::base {

std::string network_of(std::string_view ip) {
  constexpr std::size_t kIpv4Size = 4;
  constexpr std::size_t kIpv6Prefix = 8;
  const std::string text(ip);
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return std::string(bytes.data(), kIpv4Size);
  }
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  const std::string_view whole(bytes.data(), bytes.size());
  if (whole.starts_with(kMapped)) return std::string(whole.substr(kMapped.size(), kIpv4Size));
  return std::string(whole.substr(0, kIpv6Prefix));
}

}  // namespace quarry::base
