// Determines from fossil's reply which passwords in a request were wrong, logs these failures, and
// reports the outcomes to the pool's login limiter.
#pragma once

#include <event2/buffer.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guess.h"
#include "quarry/http/reply_header.h"
#include "quarry/scoreboard/login_limiter.h"

namespace quarry::pages {

class LoginAttempt {
 public:
  using LoginLimiter = scoreboard::LoginLimiter;

  /// GUESSES are those in REQUEST. LIMITER must outlive this object; if it is null, nothing is
  /// counted.
  LoginAttempt(const PageRequest& request, std::vector<Guess> guesses, LoginLimiter* limiter);
  LoginAttempt(const LoginAttempt&) = delete;
  LoginAttempt& operator=(const LoginAttempt&) = delete;
  ~LoginAttempt() { on_complete(); }

  /// Asks the limiter before the request is sent to fossil. Returns the refusal if a guess has to
  /// wait.
  std::optional<Refusal> begin();
  /// Returns whether the reply's body must be inspected. In that case it must not be compressed.
  bool reads_body() const;
  void on_head(const http::ReplyHeader& header);
  /// Inspects more of the reply's body; BODY is not changed.
  void on_body(evbuffer* body);
  /// Call this when the reply is complete. Guesses that are still undecided were neither right nor
  /// wrong.
  void on_complete();
  /// Call this when the reply is incomplete.
  void on_fault();

 private:
  enum class Outcome { kOpen, kFailed, kSucceeded, kSkipped };
  struct Tried {
    Guess guess;
    LoginLimiter::Attempt attempt = {};
    bool is_begun = false;
    Outcome outcome = Outcome::kOpen;
  };

  void fail(Tried& one);
  void succeed(Tried& one);
  void skip(Tried& one);
  void fail_all();
  std::string in_words(std::string_view what, const Tried& one) const;

  std::string client_;   // "client 192.0.2.1"
  std::string request_;  // "POST \"/login\""
  std::string address_;
  bool is_head_;
  std::vector<Tried> all_;
  LoginLimiter* limiter_;
  std::string tail_;  // the end of the body so far, which may contain the start of the text that is
                      // searched for
};

/// Decides whether a request with a password may be sent to fossil now. It uses the same login
/// limiter as the workers, which decide this for syncs.
class Logins {
 public:
  /// MEMORY belongs to the pool and must outlive this object. If it is null, or ALLOWED (the number
  /// of failures without a delay) is 0, logins are not limited. PAGES and TRUST_REMOTE_USER: see
  /// guesses_in().
  Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
         bool trust_remote_user);

  /// Returns whether a request for TARGET may contain passwords; see takes_passwords().
  bool are_at(const Target& target) const { return takes_passwords(target, pages_); }
  /// Call this before REQUEST for TARGET is sent to fossil. Returns null if it contains no
  /// password.
  std::expected<std::unique_ptr<LoginAttempt>, Refusal> begin(const PageRequest& request,
                                                              const Target& target);

 private:
  std::optional<scoreboard::LoginLimiter> limiter_;
  PageNames pages_;
  bool trust_remote_user_;
};

}  // namespace quarry::pages
