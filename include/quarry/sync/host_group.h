// The group of hosts that replicate a repository, for one request. The worker implements it.
//
// Hosts send a `cookie` card, which clients store and send with each later request:
//
//   cookie quarry/HOST/CREATED/SEQUENCE[/names]
//
// CREATED and SEQUENCE are the position in the stream up to which HOST has published the client's
// push, so another host can wait until it has applied the push. During a clone they are 0. HOST then
// says to which host the row id in `clone` belongs. `names` means that the clone was continued by
// another host: the client requests the artifacts that it lacks by their names, from any host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/repository/replica_tables.h"

namespace quarry::sync {

struct SessionFigures;

struct HostCookie {
  std::string host;
  repository::ReplicaPosition position = {};
  bool is_by_name = false;

  std::string text() const;
  /// Returns nullopt if TEXT has another form, because a client can send any cookie.
  static std::optional<HostCookie> parse(std::string_view text);
};

class HostGroup {
 public:
  virtual ~HostGroup() = default;
  /// Returns the name of this host.
  virtual const std::string& host() const = 0;
  /// Returns why other hosts cannot confirm a push at the moment, or an empty string.
  virtual std::string obstacle() = 0;
  /// Waits until the message SEQUENCE of the stream has been applied, but not for long.
  virtual void wait(std::uint64_t sequence) = 0;
  /// Publishes what the session with FIGURES has stored. Returns its position, or nullopt if nothing
  /// was published or if nobody waits for it. Errors: other hosts have not confirmed it.
  virtual Result<std::optional<repository::ReplicaPosition>> publish(
      const SessionFigures& figures) = 0;
};

}  // namespace quarry::sync
