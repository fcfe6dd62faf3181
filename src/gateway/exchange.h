// A connection and its current request, if any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "address_counts.h"
#include "connection.h"
#include "fastcgi_client.h"
#include "request_params.h"

namespace quarry::gateway {

struct Exchange {
  std::unique_ptr<Connection> connection;
  std::unique_ptr<FastcgiCall> call;
  Client client;
  /// For the log: method and target.
  std::string request;
  /// After begin_reply(): bytes of the reply that the pool has not sent yet.
  std::optional<std::uint64_t> left;
  /// Of the connection; empty for proxies and local connections.
  AddressCounts::Registration registration;
  /// Of the request, if it came through a proxy.
  AddressCounts::Registration request_registration;
};

/// By bufferevent, which is what evhttp's callbacks provide.
using Exchanges = std::unordered_map<bufferevent*, Exchange>;

}  // namespace quarry::gateway
