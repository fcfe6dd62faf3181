// Options of the HTTP front: where it forwards requests, and its limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/socket.h"
#include "quarry/gateway/address_set.h"
#include "quarry/scoreboard/refusal_tally.h"

namespace quarry::gateway {

struct GatewayOptions {
  /// The pool's address. Required.
  std::optional<base::SocketAddress> pool = {};
  /// The socket over which connections with requests for web pages are passed to the page server
  /// (base/passed_connections.h), or -1 if the pool handles all requests. The caller has to close
  /// it.
  int pages_passing = -1;
  /// Paths whose requests the pool always handles.
  std::vector<std::string> pool_paths = {};
  /// The pool also handles paths that end in a slash, because they may be folders with an index.
  bool has_folders = false;
  /// Bound, listening, non-blocking sockets. The caller has to close them.
  std::vector<int> listeners = {};
  /// Records requests that the front refuses itself; run() calls its begin(). May be null.
  std::shared_ptr<scoreboard::RefusalTally> refusals = nullptr;
  /// Peers whose X-Forwarded-For and X-Forwarded-Proto are trusted.
  AddressSet trusted_proxies = {};

  /// Maximum size of a request's line and headers in bytes. Larger ones get a 431.
  std::size_t max_header = std::size_t{16} << 10;
  /// Maximum size of a request's body in bytes. The body is buffered in memory. For larger ones,
  /// the client gets a 413 before any of the body is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Maximum size of all buffered request bodies in bytes. When it is exceeded, the request with
  /// the largest incomplete body gets a 503.
  std::size_t max_bodies = std::size_t{2} << 30;
  /// Maximum size of a pool's reply in bytes. The reply is buffered in memory. For larger ones, the
  /// client gets a 502.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Maximum size of the replies buffered for all clients in bytes. When it is exceeded, the
  /// connection with the largest buffer is closed.
  std::size_t max_replies = std::size_t{2} << 30;
  /// Maximum number of concurrent client connections. When it is reached and a new client connects,
  /// the address with the most connections loses its slowest one; if none of them is slow, the new
  /// client waits.
  std::size_t max_connections = 1024;
  /// Maximum number of concurrent connections from one address or IPv6 /64; 0: no limit. For a
  /// trusted proxy, in-flight requests are limited instead, by forwarded address. Excess ones get a
  /// 503.
  std::size_t max_connections_per_address = 100;

  /// How long an idle kept-alive connection stays open.
  std::chrono::milliseconds keepalive_timeout{15'000};
  /// Maximum time to receive a request or to send a reply. The time that its bytes take at min_rate
  /// is added.
  std::chrono::milliseconds client_timeout{30'000};
  /// How long an idle connection may still send a request during a graceful stop.
  std::chrono::milliseconds stop_grace{2'000};
  /// Minimum transfer rate in bytes per second.
  std::size_t min_rate = 1024;
  /// Maximum time to connect to the pool, including retries while its backlog is full. When it is
  /// exceeded, the client gets a 504.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Maximum time without output from the pool during a request. When it is exceeded, the client
  /// gets a 504.
  std::chrono::milliseconds pool_timeout{300'000};
};

}  // namespace quarry::gateway
