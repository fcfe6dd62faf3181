// Limits the number of connections per address and in total. When a limit is reached, slow
// connections are closed in favor of new connections.
//
// A client that keeps up with the minimum rate is never disconnected. Only the current speed
// matters (Connection::rank), so clients that are silent or send single bytes cannot block others,
// regardless of the number of their addresses. The search for the slowest connection visits all
// connections, so it runs only if a limit is exceeded.
#pragma once

#include <cstddef>
#include <functional>

#include "address_counts.h"
#include "exchange.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/log_throttle.h"
#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

class ConnectionBounds {
 public:
  /// Creates the bounds. ROOM_CHANGED is called when the result of has_room() might have changed
  /// although no connection has arrived or ended. All arguments must outlive this object.
  ConnectionBounds(event_base* base, const GatewayOptions& options, const Exchanges& exchanges,
                   std::function<void()> room_changed);

  /// Handles the new connection NEWCOMER. Registers NEWCOMER's address in REGISTRATION, unless
  /// NEWCOMER is a proxy or local. The call might refuse NEWCOMER, and might close other
  /// connections.
  void arrived(Connection& newcomer, AddressCounts::Registration& registration);
  /// Called after a reply was sent on EXCHANGE's connection.
  void replied(Exchange& exchange);
  /// Returns whether a new connection can be accepted. If the limit is reached, a new connection
  /// can be accepted only if another connection can be closed; arrived() closes that connection.
  bool has_room();
  /// Registers EXCHANGE's request if it came through a proxy. Returns whether the request must be
  /// refused because its client's address has too many requests. Logs the refusal.
  bool exceeds_address_limit(Exchange& exchange);

  /// Adds BYTES to the number of buffered reply bytes. BYTES can be negative.
  void queued(std::ptrdiff_t bytes) { unsent_ += bytes; }
  /// Closes the connections with the most buffered reply bytes, until the number of buffered reply
  /// bytes of all connections is within the limit. The call might destroy the caller's exchange.
  void limit_replies();

 private:
  /// Returns the best connection to close in favor of NEWCOMER, or null if all are new or fast
  /// enough. If SAME_ADDRESS_AS is not null, only connections from that address are considered.
  Connection* slowest(const Connection* newcomer,
                      const AddressCounts::Registration* same_address_as) const;
  void limit_address(Connection& newcomer, AddressCounts::Registration& registration);
  /// Closes connections until their number is within the limit. NEWCOMER, which can be null, stays
  /// open.
  void make_room(const Connection* newcomer);
  void retry_soon();
  void retry();

  const GatewayOptions& options_;
  const Exchanges& exchanges_;
  std::function<void()> room_changed_;
  AddressCounts counts_;
  /// Number of buffered reply bytes of all connections.
  std::ptrdiff_t unsent_ = 0;
  /// Whether the limit is reached and no connection can be closed.
  bool is_crowded_ = false;
  base::Event retry_;
  base::LogThrottle eviction_log_;
  base::LogThrottle address_log_;
};

}  // namespace quarry::gateway
