// Which requests may have fossil check a password now. Uses the same login limiter as the workers,
// which decide this for syncs.
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
  /// MEMORY, the pool's, must outlive it. Where it is null, or no failure is ALLOWED for nothing,
  /// none has to wait. PAGES, TRUST_REMOTE_USER: see guesses_in().
  Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
         bool trust_remote_user);

  /// See takes_passwords().
  bool are_at(const Target& target) const { return takes_passwords(target, pages_); }
  /// Before REQUEST, for TARGET, goes to fossil. Null: there is no password in it.
  std::expected<std::unique_ptr<LoginAttempt>, Refusal> begin(const PageRequest& request,
                                                              const Target& target);

 private:
  std::optional<scoreboard::LoginLimiter> limiter_;
  PageNames pages_;
  bool trust_remote_user_;
};

}  // namespace quarry::pages
