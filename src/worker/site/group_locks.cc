#include "group_locks.h"

#include <fmt/core.h>

#include <cstdlib>

#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::worker {
namespace {

using repository::CheckInLock;

std::string key_of(std::string_view check_in) {
  return fmt::format("ci-lock.{}", check_in);
}

}  // namespace

std::optional<CheckInLock> GroupLocks::lock(std::string_view check_in, std::string_view login,
                                            std::string_view client, std::chrono::seconds timeout) {
  const std::string key = key_of(check_in);
  if (key != asked_) {
    answer_ = ask(key, login, client, timeout);
    asked_ = key;
  }
  return answer_;
}

std::optional<CheckInLock> GroupLocks::ask(const std::string& key, std::string_view login,
                                           std::string_view client,
                                           std::chrono::seconds timeout) const {
  const std::string own = fmt::format("{}/{}/{}", client, now_, login);
  // The first attempt can remove a lock that has expired.
  for (int tries_left = 2; tries_left > 0; --tries_left) {
    const auto value = publication_.claim(pool_, name_, key, own);
    if (!value) {
      base::log(base::LogLevel::kWarning, "cannot ask other hosts for a check-in lock: {}",
                value.error().message);
      return std::nullopt;
    }
    std::string_view rest = *value;
    if (base::take_until(rest, '/') == client) return std::nullopt;
    const auto since = base::parse_number<std::int64_t>(base::take_until(rest, '/'));
    // The clock of the other host can be ahead.
    if (since && std::abs(now_ - *since) < timeout.count()) {
      return CheckInLock{.login = std::string(rest), .since = *since};
    }
    publication_.release(pool_, name_, key, *value);
  }
  return std::nullopt;
}

void GroupLocks::unlock(std::string_view check_in, std::string_view client) {
  publication_.release(pool_, name_, key_of(check_in), fmt::format("{}/", client));
}

}  // namespace quarry::worker
