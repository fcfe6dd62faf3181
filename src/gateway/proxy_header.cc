#include "proxy_header.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "quarry/base/split.h"

namespace quarry::gateway {
namespace {

using base::SocketAddress;
using Parsed = Result<std::optional<ProxyHeader>>;

constexpr std::string_view kText = "PROXY ";
constexpr std::size_t kMaxText = 107;  // including CRLF
constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t kFixed = 16;  // bytes before the addresses in version 2
constexpr std::size_t kMaxRest = 4096;

std::unexpected<Error> malformed() {
  return fail(ErrorCode::kInvalid, "the PROXY header is malformed");
}

bool could_start(std::string_view bytes, std::string_view with) {
  const std::size_t size = std::min(bytes.size(), with.size());
  return bytes.substr(0, size) == with.substr(0, size);
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

/// Parses "PROXY TCP4 SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT\r\n".
Parsed parse_text(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxText).find("\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= kMaxText) return malformed();
    return std::nullopt;
  }
  ProxyHeader header{.size = end + 2};
  std::string_view rest = bytes.substr(kText.size(), end - kText.size());
  const std::string_view family = base::take_until(rest, ' ');
  if (family == "UNKNOWN") return header;
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) word = base::take_until(rest, ' ');
  const auto& [source, destination, source_port, destination_port] = words;
  const int wanted = family == "TCP4" ? AF_INET : family == "TCP6" ? AF_INET6 : AF_UNSPEC;
  const auto client = SocketAddress::parse(fmt::format("[{}]:{}", source, source_port));
  const auto server = SocketAddress::parse(fmt::format("[{}]:{}", destination, destination_port));
  if (!rest.empty() || !client || client->family() != wanted || !server ||
      server->family() != wanted) {
    return malformed();
  }
  header.client = *client;
  return header;
}

/// Returns the source address in ADDRESSES. KIND is the address family and transport protocol.
/// Returns nullopt if the protocol is not TCP.
Result<std::optional<SocketAddress>> source_in(std::uint8_t kind, std::string_view addresses) {
  constexpr std::uint8_t kTcp4 = 0x11;
  constexpr std::uint8_t kTcp6 = 0x21;
  if (kind != kTcp4 && kind != kTcp6) return std::nullopt;
  const int family = kind == kTcp4 ? AF_INET : AF_INET6;
  const std::size_t size = kind == kTcp4 ? sizeof(in_addr) : sizeof(in6_addr);
  if (addresses.size() < 2 * size + 4) return malformed();
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, addresses.data(), text.data(), text.size());
  return SocketAddress::parse(fmt::format("[{}]:{}", text.data(), number_at(addresses, 2 * size)));
}

Parsed parse_binary(std::string_view bytes) {
  constexpr std::uint8_t kLocal = 0x20;
  constexpr std::uint8_t kProxy = 0x21;
  if (bytes.size() < kFixed) return std::nullopt;
  const std::uint8_t command = byte_at(bytes, 12);
  const std::size_t rest = number_at(bytes, 14);
  if ((command != kLocal && command != kProxy) || rest > kMaxRest) return malformed();
  if (bytes.size() < kFixed + rest) return std::nullopt;
  ProxyHeader header{.size = kFixed + rest};
  if (command == kLocal) return header;
  QUARRY_TRY_ASSIGN(header.client, source_in(byte_at(bytes, 13), bytes.substr(kFixed, rest)));
  return header;
}

}  // namespace

Result<std::optional<ProxyHeader>> parse_proxy_header(std::string_view bytes) {
  if (could_start(bytes, kSignature)) return parse_binary(bytes);
  if (could_start(bytes, kText)) return parse_text(bytes);
  return malformed();
}

}  // namespace quarry::gateway
