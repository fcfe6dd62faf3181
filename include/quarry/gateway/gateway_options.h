// What the front passes requests on to, and its bounds.
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
  /// Where the pool listens. There has to be one.
  std::optional<base::SocketAddress> pool;
  /// Where requests for web pages are passed on (base/passed_connections.h), past the pool; -1: all
  /// are the pool's. It stays the caller's.
  int pages_passing = -1;
  /// Paths whose requests are the pool's in any case.
  std::vector<std::string> pool_paths = {};
  /// So are those of paths that end in a slash, which may be folders with an index.
  bool has_folders = false;
  /// Bound, listening, non-blocking sockets. They stay the caller's.
  std::vector<int> listeners;
  /// What the front answers by itself is noted there, which run() begins; null: nowhere.
  std::shared_ptr<scoreboard::RefusalTally> refusals = nullptr;
  /// Peers whose X-Forwarded-For and X-Forwarded-Proto are believed.
  AddressSet trusted_proxies;

  /// Bytes of a request's line and headers; over it: 431.
  std::size_t max_header = std::size_t{16} << 10;
  /// Bytes of a request's body, all held in memory; over it: 413, before any of it is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Bytes of all bodies that are held at the same time; beyond it, the largest that
  /// is still coming gets a 503.
  std::size_t max_bodies = std::size_t{2} << 30;
  /// Bytes of a pool's reply, all held in memory; over it: 502.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Bytes of all replies that clients have not taken yet; beyond it, the one with the most is
  /// closed.
  std::size_t max_replies = std::size_t{2} << 30;
  /// Connections from clients at the same time. For one more the slowest client of the address with
  /// the most gives way; where all of them keep up, it waits.
  std::size_t max_connections = 1024;
  /// Of these, those from one address, or an IPv6 /64; 0: no bound. A trusted proxy's are not
  /// bounded, but the requests that it passes on at the same time are, by the address that it
  /// names. Beyond it: 503.
  std::size_t max_connections_per_address = 100;

  /// A kept connection without a request is closed after this.
  std::chrono::milliseconds keepalive_timeout{15'000};
  /// A request must have come whole, and a reply must have gone whole, within this and as long
  /// again as its bytes take at min_rate.
  std::chrono::milliseconds client_timeout{30'000};
  /// Once the front is to end gracefully: how long a connection without a request still has for
  /// one.
  std::chrono::milliseconds stop_grace{2'000};
  /// Bytes per second.
  std::size_t min_rate = 1024;
  /// To get a connection to the pool, its full backlog included; over it: 504.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Silence of the pool while it works on a request; over it: 504.
  std::chrono::milliseconds pool_timeout{300'000};
};

}  // namespace quarry::gateway
