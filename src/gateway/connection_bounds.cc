#include "connection_bounds.h"

#include <fmt/core.h>

#include <tuple>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::gateway {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{100};

}  // namespace

ConnectionBounds::ConnectionBounds(event_base* base, const GatewayOptions& options,
                                   const Exchanges& exchanges, std::function<void()> room_changed)
    : options_(options),
      exchanges_(exchanges),
      room_changed_(std::move(room_changed)),
      counts_(options.max_connections_per_address),
      retry_(base, -1, 0, [this] { retry(); }) {}

Connection* ConnectionBounds::slowest(const Connection* newcomer,
                                      const AddressCounts::Registration* same_address_as) const {
  using Worth = std::tuple<bool, std::ptrdiff_t, double>;
  Connection* least = nullptr;
  Worth least_worth;
  for (const auto& [bev, exchange] : exchanges_) {
    Connection* const connection = exchange.connection.get();
    if (connection == newcomer) continue;
    if (same_address_as != nullptr && !exchange.registration.same_address(*same_address_as))
      continue;
    const auto rank = connection->rank();
    if (!rank) continue;
    // Skip connections that are fast enough. A new connection counts as fast (pace.h), because its
    // client will probably send a request soon.
    const bool has_had_time = rank->is_kept || rank->pace < static_cast<double>(options_.min_rate);
    if (!has_had_time) continue;
    const Worth worth{!rank->is_refused,
                      -static_cast<std::ptrdiff_t>(exchange.registration.of_address()), rank->pace};
    if (least != nullptr && worth >= least_worth) continue;
    least = connection;
    least_worth = worth;
  }
  return least;
}

void ConnectionBounds::limit_address(Connection& newcomer,
                                     AddressCounts::Registration& registration) {
  const auto peer = newcomer.peer();
  if (!peer || options_.trusted_proxies.contains(*peer)) return;
  registration = counts_.enter(peer->ip());
  if (!counts_.exceeds_limit(registration)) return;
  const std::size_t limit = options_.max_connections_per_address;
  if (Connection* silent = slowest(&newcomer, &registration); silent != nullptr) {
    address_log_.warn(
        fmt::format("client {}: more than {} connections from one address: "
                    "closed an idle one",
                    peer->ip(), limit));
    return silent->evict();
  }
  registration.leave();
  address_log_.warn(
      fmt::format("client {}: 503 more than {} connections from one address", peer->ip(), limit));
  newcomer.refuse_next_request({.status = 503, .text = "too many connections from your address"});
}

bool ConnectionBounds::exceeds_address_limit(Exchange& exchange) {
  if (!exchange.client.is_named) return false;
  exchange.request_registration = counts_.enter(exchange.client.address);
  if (!counts_.exceeds_limit(exchange.request_registration)) return false;
  exchange.request_registration.leave();
  address_log_.warn(fmt::format("client {}: 503 {}: more than {} requests from one address",
                                exchange.client.address, exchange.request,
                                options_.max_connections_per_address));
  return true;
}

bool ConnectionBounds::has_room() {
  const std::size_t limit = options_.max_connections;
  if (exchanges_.size() < limit) return true;
  // Accept one connection above the limit. When the address of its client is known, arrived()
  // chooses a connection to close.
  if (exchanges_.size() > limit || is_crowded_) return false;
  if (slowest(nullptr, nullptr) != nullptr) return true;
  retry_soon();
  return false;
}

void ConnectionBounds::limit_replies() {
  while (unsent_ > 0 && static_cast<std::size_t>(unsent_) > options_.max_replies) {
    Connection* largest = nullptr;
    for (const auto& [bev, exchange] : exchanges_) {
      Connection* const connection = exchange.connection.get();
      if (connection->unsent() > (largest == nullptr ? 0 : largest->unsent())) {
        largest = connection;
      }
    }
    if (largest == nullptr) return;
    eviction_log_.warn(
        fmt::format("client {}: connection closed with {} unread bytes of its reply: the buffered "
                    "replies of all clients exceed max_replies",
                    largest->client(), largest->unsent()));
    largest->close();
  }
}

void ConnectionBounds::make_room(const Connection* newcomer) {
  while (exchanges_.size() > options_.max_connections) {
    Connection* const least = slowest(newcomer, nullptr);
    if (least == nullptr) return retry_soon();
    eviction_log_.warn(
        fmt::format("client {}: connection closed for a new client: all {} connections are in use",
                    least->client(), options_.max_connections));
    least->evict();
  }
}

void ConnectionBounds::arrived(Connection& newcomer, AddressCounts::Registration& registration) {
  limit_address(newcomer, registration);
  make_room(&newcomer);
}

void ConnectionBounds::retry_soon() {
  is_crowded_ = true;
  retry_.wait(kRetryDelay);
}

void ConnectionBounds::retry() {
  is_crowded_ = false;
  // Close the connection above the limit, if any. arrived() might have found no connection to
  // close, because all connections had become busy.
  make_room(nullptr);
  room_changed_();
}

void ConnectionBounds::replied(Exchange& exchange) {
  exchange.request_registration.leave();
  // The connection that got the reply can now be closed to make room. Close it from the event loop,
  // because evhttp is still using the connection here.
  if (is_crowded_) retry_.fire();
}

}  // namespace quarry::gateway
