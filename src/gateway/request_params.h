// From an HTTP request to the CGI variables (RFC 3875, section 4.1) that the pool is sent.
//
// REQUEST_URI is the target as it came, PATH_INFO its path with %XX undone and nothing else: what a
// path may name is the worker's decision. SCRIPT_NAME is empty, REMOTE_USER is never set: the
// gateway authenticates nobody. Headers that could be mistaken for other variables are left out:
// names with anything but letters, digits and hyphens, and Proxy.
#pragma once

#include <event2/http.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "fastcgi_record.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/gateway/address_set.h"

namespace quarry::gateway {

/// Who the request is from, after proxies that are trusted.
struct Client {
  std::string address;
  /// 0 when a proxy stands between.
  std::uint16_t port = 0;
  /// Whether the peer is a trusted proxy.
  bool through_proxy = false;
  /// Whether that one names the address; otherwise it is the proxy's own.
  bool is_named = false;
};

/// PEER itself, unless it is trusted: then the right-most address of X-Forwarded-For that is not.
/// What is not an address ends the search.
Client client_of(const base::SocketAddress& peer, const evkeyvalq& headers,
                 const AddressSet& trusted);

struct RequestFacts {
  const Client& client;
  std::uint16_t server_port;
  std::size_t body_size;
};

/// Errors: kInvalid, a path that cannot be decoded.
base::Result<Params> params_of(evhttp_request& request, const RequestFacts& facts);

}  // namespace quarry::gateway
