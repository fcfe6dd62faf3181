// What a client wants of a sync, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quarry/repository/receipt.h"

namespace quarry::sync {

struct ClientOptions {
  /// The repository was made by init_for_clone(), and is to become what the server has.
  bool clone = false;
  bool pull = false;
  bool push = false;
  /// Private artifacts travel as well; the server wants the right `x` for it.
  bool with_private = false;
  /// Unversioned files travel as well, in the directions above; to a clone, too.
  bool with_unversioned = false;
  /// Both sides name everything that they have, instead of what no cluster names.
  bool verily = false;

  /// Who logs in; empty: nobody does.
  std::string user;
  /// The password, or, if it is 40 hex digits, what the server keeps of it.
  std::string password;
  /// Whom `rcvfrom` is to name: a user of the repository.
  std::int64_t uid = 1;
  /// Of one reply, uncompressed, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// Who waits while a clone's artifacts are looked at.
  repository::CompletionWatch watch = {};
};

/// What has travelled so far.
struct ClientFigures {
  std::uint64_t round_trips = 0;
  std::uint64_t artifacts_sent = 0;
  std::uint64_t artifacts_received = 0;
  std::uint64_t bytes_sent = 0;  // bodies as they travel
  std::uint64_t bytes_received = 0;
  /// Seconds that the server's clock is ahead, by its last reply: the journey of that is in it.
  std::int64_t clock_skew = 0;
};

struct ClientRequest {
  std::string content_type;
  std::string body;
};

}  // namespace quarry::sync
