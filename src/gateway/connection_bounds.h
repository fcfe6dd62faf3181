// Who is let in, and who gives way: a bound on the connections from one address, and places for
// newcomers when all are taken.
//
// Nobody has to leave who keeps up. What is looked at is only how a client stands now
// (Connection::standing), so that neither silence nor a byte now and then, from however many
// addresses, keeps others out. A look goes over all connections: it is taken only where there are
// too many.
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
  /// Of EXCHANGES, with an event of BASE. PLACES_CHANGED is called when has_place() may say
  /// something else than before though nothing has happened. All must outlive it.
  ConnectionBounds(event_base* base, const GatewayOptions& options, const Exchanges& exchanges,
                   std::function<void()> places_changed);

  /// NEWCOMER has connected, in PLACE from now on, unless it is a proxy or local. It may be refused,
  /// and others may be closed.
  void arrived(Connection& newcomer, AddressCounts::Registration& registration);
  /// A reply has gone out on EXCHANGE's connection.
  void replied(Exchange& exchange);
  /// Whether there is a place, or somebody to give way.
  bool has_place();
  /// Whether the request of EXCHANGE, which a proxy passes on, has to be refused. The log is told.
  bool is_one_too_many(Exchange& exchange);

  /// BYTES more of replies, or fewer, are held until their clients take them.
  void queued(std::ptrdiff_t bytes) { untaken_ += bytes; }
  /// Closes who has taken least of the largest replies, while too much is held of all. The caller's
  /// exchange may be gone after it.
  void bound_replies();

 private:
  /// Who would be missed least of those that could give way to NEWCOMER; null: all keep up, or have
  /// just come. OF_ITS: only those of its address.
  Connection* least_missed(const Connection* newcomer,
                           const AddressCounts::Registration* of_its) const;
  void bound_address(Connection& newcomer, AddressCounts::Registration& registration);
  /// Closes others than NEWCOMER (null: any) while there are too many.
  void make_room(const Connection* newcomer);
  void look_again_soon();
  void look_again();

  const GatewayOptions& options_;
  const Exchanges& exchanges_;
  std::function<void()> places_changed_;
  AddressCounts counts_;
  /// Bytes of replies, of all connections.
  std::ptrdiff_t untaken_ = 0;
  /// All places were taken, or more than there are, and nobody could give way.
  bool is_crowded_ = false;
  base::Event look_again_;
  LogThrottle gone_log_;
  LogThrottle bound_log_;
};

}  // namespace quarry::gateway
