// Limits on connections: per address and in total. When a limit is reached, slow connections are
// closed in favor of new ones.
//
// A client that keeps up is never disconnected. Only its current speed counts
// (Connection::rank), so that clients that are silent or send single bytes cannot block others,
// no matter how many addresses they use. The search visits all connections, so it only runs when
// there are too many.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "address_counts.h"
#include "exchange.h"
#include "log_throttle.h"
#include "quarry/base/event_handles.h"
#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

class ConnectionBounds {
 public:
  /// ROOM_CHANGED is called when the result of has_room() may have changed without another event.
  /// All arguments must outlive it.
  ConnectionBounds(event_base* base, const GatewayOptions& options, const Exchanges& exchanges,
                   std::function<void()> room_changed);

  /// Handles NEWCOMER, which has connected, and sets its REGISTRATION, unless it is a proxy or local.
  /// NEWCOMER may be refused, and others may be closed.
  void arrived(Connection& newcomer, AddressCounts::Registration& registration);
  /// Call it when a reply was sent on EXCHANGE's connection.
  void replied(Exchange& exchange);
  /// Whether a new connection can be accepted, if necessary by closing another.
  bool has_room();
  /// Whether the request of EXCHANGE, which came through a proxy, has to be refused (logged).
  bool exceeds_address_limit(Exchange& exchange);

  /// Adds BYTES, which may be negative, to the number of buffered reply bytes.
  void queued(std::ptrdiff_t bytes) { unsent_ += bytes; }
  /// While too many reply bytes are buffered, closes the connection with the most. The caller's
  /// exchange may be destroyed in it.
  void limit_replies();

 private:
  /// The best connection to close in favor of NEWCOMER; null if all are fast enough or new.
  /// SAME_ADDRESS_AS (may be null): only connections from that address.
  Connection* slowest(const Connection* newcomer,
                      const AddressCounts::Registration* same_address_as) const;
  void limit_address(Connection& newcomer, AddressCounts::Registration& registration);
  /// Closes connections except NEWCOMER (may be null) while there are too many.
  void make_room(const Connection* newcomer);
  void retry_soon();
  void retry();

  const GatewayOptions& options_;
  const Exchanges& exchanges_;
  std::function<void()> room_changed_;
  AddressCounts counts_;
  /// Buffered reply bytes of all connections.
  std::ptrdiff_t unsent_ = 0;
  /// The limit was reached or exceeded, and no connection could be closed.
  bool is_crowded_ = false;
  base::Event retry_;
  LogThrottle eviction_log_;
  LogThrottle address_log_;
};

}  // namespace quarry::gateway
