// A connection, and the request on it if there is one.
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
  /// Once a reply has begun to go out: bytes of it that have not come.
  std::optional<std::uint64_t> left;
  /// Of the connection, unless it is a proxy's or local.
  AddressCounts::Registration registration;
  /// Of the request, where a proxy passes it on.
  AddressCounts::Registration request_registration;
};

/// By what evhttp knows of them: their bufferevent.
using Exchanges = std::unordered_map<bufferevent*, Exchange>;

}  // namespace quarry::gateway
