// Options of a sync client, and its statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quarry/repository/receipt.h"

namespace quarry::sync {

struct ClientOptions {
  /// The repository was made by init_for_clone() and is to become a clone of the server's.
  bool clone = false;
  bool pull = false;
  bool push = false;
  /// Also sync private artifacts; the server requires the capability `x`.
  bool with_private = false;
  /// Also sync unversioned files, in the directions above or when cloning.
  bool with_unversioned = false;
  /// Both sides name all their artifacts, not only those outside clusters.
  bool verily = false;

  /// The user to log in as; empty: no login.
  std::string user;
  /// The password, or, if it is 40 hex digits, the hash that the server stores.
  std::string password;
  /// The user of this repository that `rcvfrom` names.
  std::int64_t uid = 1;
  /// Limit on one reply, uncompressed, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// Callbacks while a clone's artifacts are processed.
  repository::CompletionWatch watch = {};
};

/// Statistics of the session so far.
struct ClientFigures {
  std::uint64_t round_trips = 0;
  std::uint64_t artifacts_sent = 0;
  std::uint64_t artifacts_received = 0;
  std::uint64_t bytes_sent = 0;  // as transferred
  std::uint64_t bytes_received = 0;
  /// Seconds by which the server's clock is ahead, from its last reply; includes the network delay.
  std::int64_t clock_skew = 0;
};

struct ClientRequest {
  std::string content_type;
  std::string body;
};

}  // namespace quarry::sync
