// Limits the connections: per address and in total. When a limit is reached, slow connections are
// closed in favor of new ones.
//
// A client that keeps up with the minimum rate is never disconnected. Only its current speed
// matters (Connection::rank), so clients that are silent or send single bytes cannot block others,
// no matter how many addresses they use. The search for the slowest visits all connections, so it
// runs only if there are too many.
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
  /// All arguments must outlive this object.
  ConnectionBounds(event_base* base, const GatewayOptions& options, const Exchanges& exchanges,
                   std::function<void()> room_changed);

  /// Handles NEWCOMER, which has connected. Sets its REGISTRATION unless it is a proxy or local.
  /// NEWCOMER may be refused, and other connections may be closed.
  void arrived(Connection& newcomer, AddressCounts::Registration& registration);
  /// Call this when a reply was sent on EXCHANGE's connection.
  void replied(Exchange& exchange);
  /// Returns whether a new connection can be accepted, possibly after another one has been closed.
  bool has_room();
  /// Returns whether the request of EXCHANGE, which came through a proxy, has to be refused; this
  /// is logged.
  bool exceeds_address_limit(Exchange& exchange);

  /// Adds BYTES, which may be negative, to the number of buffered reply bytes.
  void queued(std::ptrdiff_t bytes) { unsent_ += bytes; }
  /// Closes the connection with the most buffered reply bytes while there are too many. The
  /// caller's exchange may be destroyed in this call.
  void limit_replies();

 private:
  /// Returns the best connection to close in favor of NEWCOMER, or null if all are fast enough or
  /// new. If SAME_ADDRESS_AS is not null, only connections from that address are considered.
  Connection* slowest(const Connection* newcomer,
                      const AddressCounts::Registration* same_address_as) const;
  void limit_address(Connection& newcomer, AddressCounts::Registration& registration);
  /// Closes connections while there are too many, but not NEWCOMER, which may be null.
  void make_room(const Connection* newcomer);
  void retry_soon();
  void retry();

  const GatewayOptions& options_;
  const Exchanges& exchanges_;
  std::function<void()> room_changed_;
  AddressCounts counts_;
  /// Buffered reply bytes of all connections.
  std::ptrdiff_t unsent_ = 0;
  /// Whether the limit was reached or exceeded and no connection could be closed.
  bool is_crowded_ = false;
  base::Event retry_;
  LogThrottle eviction_log_;
  LogThrottle address_log_;
};

}  // namespace quarry::gateway
