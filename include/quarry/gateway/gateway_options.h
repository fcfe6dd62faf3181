// Options of the HTTP front: where it forwards requests, and its limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/address_set.h"
#include "quarry/base/socket.h"
#include "quarry/http/web_page.h"
#include "quarry/scoreboard/refusal_tally.h"

namespace quarry::gateway {

/// A listening socket of the front.
struct FrontSocket {
  /// Bound, listening and non-blocking. The caller has to close the socket.
  int descriptor = -1;
  std::uint16_t port = 0;
  /// Whether clients connect with TLS.
  bool is_tls = false;
  /// Whether clients are redirected to the first socket with TLS.
  bool redirects = false;
  /// Whether trusted proxies send a PROXY header (proxy_header.h) before each connection.
  bool has_proxy_protocol = false;
};

struct GatewayOptions {
  /// The pool's address. Required.
  std::optional<base::SocketAddress> pool = {};
  /// The socket over which connections with requests for web pages are passed to the page server
  /// (base/passed_connections.h). -1: the pool handles all requests. The caller has to close the
  /// socket.
  int pages_passing = -1;
  /// Paths whose requests the pool always handles.
  std::vector<std::string> pool_paths = {};
  /// Whether the pool also handles paths that end in a slash. Such a path can be a folder with an
  /// index.
  bool has_folders = false;
  /// The place that the pool serves, for the links of error pages.
  http::PlaceKind place = http::PlaceKind::kFolder;
  std::vector<FrontSocket> listeners = {};
  /// Files with certificates and their keys (certificate.h): the n-th key belongs to the n-th
  /// certificate. Only the caller of run() reads these files.
  std::vector<std::string> certificate_files = {};
  std::vector<std::string> key_files = {};
  /// Memory files of the certificates. Required if a listener has TLS. run() closes the files.
  std::vector<int> certificates = {};
  /// Counts requests that the front itself refuses. run() calls RefusalTally::begin(). Can be null.
  std::shared_ptr<scoreboard::RefusalTally> refusals = nullptr;
  /// Time for which a browser uses only HTTPS after an HTTPS connection (Strict-Transport-Security
  /// header). 0: the header is not sent.
  std::chrono::milliseconds hsts{0};
  /// Peers whose X-Forwarded-For and X-Forwarded-Proto are trusted.
  base::AddressSet trusted_proxies = {};

  /// Maximum size of the request line and headers in bytes. A larger request is refused with status
  /// 431.
  std::size_t max_header = std::size_t{16} << 10;
  /// Maximum size of a request's body in bytes. The body is buffered in memory. A request with a
  /// larger body is refused with status 413 before any of the body is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Maximum size of all buffered request bodies in bytes. When the limit is exceeded, the request
  /// with the largest incomplete body is refused with status 503.
  std::size_t max_bodies = std::size_t{2} << 30;
  /// Maximum size of a pool's reply in bytes. The reply is buffered in memory. If a reply is
  /// larger, the client gets an error with status 502.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Maximum size of the replies buffered for all clients in bytes. When the limit is exceeded, the
  /// connection with the largest buffer is closed.
  std::size_t max_replies = std::size_t{2} << 30;
  /// Maximum number of concurrent client connections. When a new client exceeds the limit, the
  /// front closes the slowest connection of the address with the most connections. If none of these
  /// connections is slow, the new client waits.
  std::size_t max_connections = 1024;
  /// Whether rlimit_files is set for this process. If so, a warning about the limit suggests
  /// raising rlimit_files.
  bool has_rlimit_files = false;
  /// Maximum number of concurrent connections from an IPv4 address or an IPv6 /64; 0: no limit.
  /// Excess connections are refused with status 503. For a trusted proxy, the limit applies to
  /// in-flight requests of each forwarded address instead.
  std::size_t max_connections_per_address = 100;
  /// Maximum number of requests that the pool handles at the same time for an address; 0: no limit.
  /// Further requests wait in the front.
  std::size_t max_handled_per_address = 0;

  /// Time for which an idle kept-alive connection stays open.
  std::chrono::milliseconds keepalive_timeout{15'000};
  /// Maximum time to receive a request or send a reply, not counting the time that its bytes take
  /// at min_rate.
  std::chrono::milliseconds client_timeout{30'000};
  /// Time during a graceful stop in which an idle connection can still send a request.
  std::chrono::milliseconds stop_grace{2'000};
  /// Minimum transfer rate in bytes per second.
  std::size_t min_rate = 1024;
  /// Maximum time to connect to the pool, including retries while the pool's backlog is full. After
  /// this time, the client gets an error with status 504.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Maximum time without output from the pool during a request. After this time, the client gets
  /// an error with status 504.
  std::chrono::milliseconds pool_timeout{300'000};
};

}  // namespace quarry::gateway
