// A connection and its current request, if any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "address_counts.h"
#include "address_turns.h"
#include "connection.h"
#include "fastcgi_client.h"
#include "request_params.h"

namespace quarry::gateway {

struct Exchange {
  std::unique_ptr<Connection> connection;
  std::unique_ptr<FastcgiCall> call;
  /// The place of the call among those of its address. Empty if the address is not limited.
  AddressTurns::Turn turn;
  Client client;
  std::string id;  // of the request; see request_id.h
  /// Method and target, for the log.
  std::string request;
  /// After begin_reply(): number of bytes of the reply that the pool has not sent yet.
  std::optional<std::uint64_t> left;
  /// Registration of the connection; empty for proxies and local connections.
  AddressCounts::Registration registration;
  /// Registration of the request, if it came through a proxy.
  AddressCounts::Registration request_registration;
};

/// The key is the bufferevent, because evhttp's callbacks provide it.
using Exchanges = std::unordered_map<bufferevent*, Exchange>;

}  // namespace quarry::gateway
