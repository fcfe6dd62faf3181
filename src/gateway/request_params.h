// Converts an HTTP request to the CGI variables (RFC 3875, section 4.1) for the pool.
//
// REQUEST_URI is the target, unchanged. PATH_INFO is its path with %XX decoded; the worker decides
// whether the path is valid. SCRIPT_NAME is empty. REMOTE_USER is never set, because the gateway
// does not authenticate clients. Headers that could be mistaken for other variables are dropped:
// Proxy, and names with characters other than letters, digits and hyphens.
#pragma once

#include <event2/http.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/address_set.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::gateway {

/// The listening socket on which a request has reached the gateway.
struct Entrance {
  std::uint16_t port = 0;
  bool is_tls = false;
};

/// The client, as seen through trusted proxies.
struct Client {
  std::string address;
  /// 0 if the request came through a proxy.
  std::uint16_t port = 0;
  /// Whether the peer is a trusted proxy.
  bool through_proxy = false;
  /// Whether the proxy has forwarded the client's address. If false, the address is the proxy's
  /// own.
  bool is_named = false;
};

/// Returns the client of a request from PEER. If PEER is trusted, the client is the right-most
/// address in X-Forwarded-For that is not trusted; otherwise it is PEER. The search ends at the
/// first entry that is not an address.
Client client_of(const base::SocketAddress& peer, const evkeyvalq& headers,
                 const base::AddressSet& trusted);

std::string_view method_name(const evhttp_request& request);

/// Returns whether CLIENT has sent its request over HTTPS, to the gateway or to a trusted proxy.
bool is_https(const evkeyvalq& headers, const Client& client, bool is_tls);

/// Returns the https URL of REQUEST, with PORT. Errors: kInvalid (the request does not have a host
/// or a path).
Result<std::string> https_url(evhttp_request& request, std::uint16_t port);

/// Returns the id of a request with HEADERS: the id that a trusted proxy has sent, or a new id.
std::string request_id(const evkeyvalq& headers, const Client& client);

/// Returns the variables of REQUEST, which has ID, encoded by http::append_pair(). Errors: kInvalid
/// (the path cannot be decoded).
Result<std::string> params_of(evhttp_request& request, const Client& client, std::string_view id,
                              const Entrance& entrance);

}  // namespace quarry::gateway
