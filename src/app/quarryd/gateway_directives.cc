#include "gateway_directives.h"

#include <array>

#include "quarry/master/kinds.h"

namespace quarry::app {
namespace {

using master::Directive;
using master::Number;
using master::Size;
using master::Timeout;

constexpr auto kGatewayDirectives = std::to_array<Directive<gateway::GatewayOptions>>({
    {"max_body", Size(), QUARRY_FIELD(max_body)},
    {"max_bodies", Size(), QUARRY_FIELD(max_bodies)},
    {"max_reply", Size(), QUARRY_FIELD(max_reply)},
    {"max_replies", Size(), QUARRY_FIELD(max_replies)},
    {"keepalive_timeout", Timeout(), QUARRY_FIELD(keepalive_timeout)},
    {"client_timeout", Timeout(), QUARRY_FIELD(client_timeout)},
    {"pool_timeout", Timeout(), QUARRY_FIELD(pool_timeout)},
    {"max_connections", Number<1, 100000>(), QUARRY_FIELD(max_connections)},
    {"max_connections_per_address", Number<>(), QUARRY_FIELD(max_connections_per_address)},
});

}  // namespace

std::span<const Directive<gateway::GatewayOptions>> gateway_directives() {
  return kGatewayDirectives;
}

}  // namespace quarry::app
