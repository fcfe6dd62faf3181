// Decides whether a request with a password may go to fossil now. Uses the same login limiter as
// the workers, which decide this for syncs.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include "guess.h"
#include "login_attempt.h"
#include "quarry/scoreboard/login_limiter.h"

namespace quarry::pages {

class Logins {
 public:
  /// MEMORY is the pool's and must outlive it. If it is null or ALLOWED (failures without a delay)
  /// is 0, logins are not limited. PAGES, TRUST_REMOTE_USER: see guesses_in().
  Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
         bool trust_remote_user);

  /// See takes_passwords().
  bool are_at(const Target& target) const { return takes_passwords(target, pages_); }
  /// Call before REQUEST for TARGET goes to fossil. Null: it contains no password.
  std::expected<std::unique_ptr<LoginAttempt>, Refusal> begin(const PageRequest& request,
                                                              const Target& target);

 private:
  std::optional<scoreboard::LoginLimiter> limiter_;
  PageNames pages_;
  bool trust_remote_user_;
};

}  // namespace quarry::pages
