// Where the HTTP front forwards requests, and its limits.
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
  /// (base/passed_connections.h); -1: the pool handles all requests. It stays the caller's.
  int pages_passing = -1;
  /// Paths that the pool always handles.
  std::vector<std::string> pool_paths = {};
  /// The pool also handles paths that end in a slash, because they may be folders with an index.
  bool has_folders = false;
  /// Bound, listening, non-blocking sockets. They stay the caller's.
  std::vector<int> listeners = {};
  /// Records requests that the front refuses itself; run() calls its begin(). May be null.
  std::shared_ptr<scoreboard::RefusalTally> refusals = nullptr;
  /// Peers whose X-Forwarded-For and X-Forwarded-Proto are trusted.
  AddressSet trusted_proxies = {};

  /// Bytes of a request's line and headers; larger ones get a 431.
  std::size_t max_header = std::size_t{16} << 10;
  /// Bytes of a request's body, which is buffered in memory; larger ones get a 413 before any of the
  /// body is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Bytes of all buffered request bodies; when exceeded, the largest incomplete one gets a 503.
  std::size_t max_bodies = std::size_t{2} << 30;
  /// Bytes of a pool's reply, which is buffered in memory; larger ones become a 502.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Bytes of replies buffered for all clients; when exceeded, the connection with the most is
  /// closed.
  std::size_t max_replies = std::size_t{2} << 30;
  /// Concurrent client connections. For a new one, the slowest connection of the address with the
  /// most connections is closed; if none is slow, the new one waits.
  std::size_t max_connections = 1024;
  /// Concurrent connections from one address or IPv6 /64; 0: no limit. For a trusted proxy, its
  /// in-flight requests are limited instead, by the forwarded address. Excess ones get a 503.
  std::size_t max_connections_per_address = 100;

  /// How long an idle kept-alive connection stays open.
  std::chrono::milliseconds keepalive_timeout{15'000};
  /// Limit on the time to receive a request or send a reply, plus the time that its bytes take at
  /// min_rate.
  std::chrono::milliseconds client_timeout{30'000};
  /// During a graceful stop: how long an idle connection may still send a request.
  std::chrono::milliseconds stop_grace{2'000};
  /// Bytes per second.
  std::size_t min_rate = 1024;
  /// Limit on the time to connect to the pool, including retries while its backlog is full; after
  /// it, 504.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Limit on the time without output from the pool during a request; after it, 504.
  std::chrono::milliseconds pool_timeout{300'000};
};

}  // namespace quarry::gateway
