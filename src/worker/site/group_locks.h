// Check-in locks that the hosts of a group share: claims of quarry-replica (control/publication.h) with
// the key `ci-lock.HASH` and the value `CLIENT/SECONDS/LOGIN`, where SECONDS is the time since 1970. If
// quarry-replica or the other hosts cannot be reached, a lock is known only on its own host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/time.h"
#include "quarry/control/publication.h"
#include "quarry/sync/request.h"

namespace quarry::worker {

class GroupLocks : public sync::SharedLocks {
 public:
  /// The locks of the repository NAME of POOL, for one request. The arguments must outlive this
  /// object.
  GroupLocks(const control::Publication& publication, std::string_view pool, std::string_view name,
             base::UnixMillis now)
      : publication_(publication), pool_(pool), name_(name), now_(now.value / 1000) {}

  std::optional<repository::CheckInLock> lock(std::string_view check_in, std::string_view login,
                                              std::string_view client,
                                              std::chrono::seconds timeout) override;
  void unlock(std::string_view check_in, std::string_view client) override;

 private:
  std::optional<repository::CheckInLock> ask(const std::string& key, std::string_view login,
                                             std::string_view client,
                                             std::chrono::seconds timeout) const;

  const control::Publication& publication_;
  std::string_view pool_;
  std::string_view name_;
  std::int64_t now_;
  // The key of the last lock, and the answer. A request is usually processed twice.
  std::string asked_;
  std::optional<repository::CheckInLock> answer_;
};

}  // namespace quarry::worker
