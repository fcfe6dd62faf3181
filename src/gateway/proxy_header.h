// The header of the PROXY protocol, versions 1 and 2, which a proxy sends before the bytes of its
// client. Specification: proxy-protocol.txt of HAProxy.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::gateway {

struct ProxyHeader {
  std::size_t size = 0;  // in bytes
  /// The client of the proxy. Nullopt if the proxy connects without a client, for example for a
  /// health check, or does not know the client.
  std::optional<base::SocketAddress> client = {};
};

/// Parses the header at the start of BYTES. Returns nullopt if BYTES is incomplete. Errors:
/// kInvalid (BYTES does not start with a header).
Result<std::optional<ProxyHeader>> parse_proxy_header(std::string_view bytes);

}  // namespace quarry::gateway
