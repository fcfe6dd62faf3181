// Determines from fossil's reply which passwords in a request were wrong. Logs these failures, and
// reports the outcomes to the pool's login limiter.
#pragma once

#include <event2/buffer.h>

#include <atomic>
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

  /// Creates an attempt. GUESSES are the passwords in REQUEST. LIMITER must outlive this object. If
  /// LIMITER is null, logins are not limited. FAILED counts the failed logins, and can be null.
  LoginAttempt(const PageRequest& request, std::vector<Guess> guesses, LoginLimiter* limiter,
               std::atomic<std::uint64_t>* failed = nullptr);
  LoginAttempt(const LoginAttempt&) = delete;
  LoginAttempt& operator=(const LoginAttempt&) = delete;
  ~LoginAttempt() { on_complete(); }

  /// Called before the request is sent to fossil. Returns a refusal if the limiter delays a guess.
  std::optional<Refusal> begin();
  /// Returns whether the reply's body must be inspected. If so, the reply must not be compressed.
  bool reads_body() const;
  /// Returns whether the reply must be inspected even if the client disconnects.
  bool must_finish() const;
  void on_head(const http::ReplyHeader& header);
  /// Inspects more of the reply's body; BODY is not changed.
  void on_body(evbuffer* body);
  /// Called when the reply is complete. Undecided guesses count as neither correct nor wrong.
  void on_complete();
  /// Called when the reply is incomplete.
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
  void on_unauthorized(const http::ReplyHeader& header);
  std::string in_words(std::string_view what, const Tried& one) const;

  std::string client_;   // such as "client 192.0.2.1"
  std::string request_;  // such as "POST \"/login\""
  std::string address_;
  std::string id_;  // of the request
  bool is_head_;
  std::vector<Tried> all_;
  LoginLimiter* limiter_;
  std::atomic<std::uint64_t>* failed_;
  std::string tail_;  // last bytes of the body; the searched text might be split
};

/// Decides whether a request with a password can be sent to fossil now. The workers use the same
/// login limiter for syncs.
class Logins {
 public:
  /// Creates the checks. MEMORY belongs to the pool and must outlive this object. If MEMORY is
  /// null, or ALLOWED (the number of failures without a delay) is 0, logins are not limited. For
  /// PAGES and TRUST_REMOTE_USER, see guesses_in(); for FAILED, see LoginAttempt.
  Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
         bool trust_remote_user, std::atomic<std::uint64_t>* failed = nullptr);

  /// Returns whether REQUEST can contain a password; see may_have_password().
  bool may_be_in(const PageRequest& request, const Target& target) const {
    return may_have_password(request, target, pages_);
  }
  /// Called before REQUEST for TARGET is sent to fossil. Changes REQUEST; see guesses_in().
  /// Returns null if fossil does not check a password.
  std::expected<std::unique_ptr<LoginAttempt>, Refusal> begin(PageRequest& request,
                                                              const Target& target);

 private:
  std::optional<scoreboard::LoginLimiter> limiter_;
  PageNames pages_;
  bool trust_remote_user_;
  std::atomic<std::uint64_t>* failed_;
};

}  // namespace quarry::pages
