// What becomes of the passwords in one request, as fossil's reply tells: logged where they are wrong,
// and counted by the pool's login limiter.
#pragma once

#include <event2/buffer.h>

#include <cstddef>
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

  /// Of GUESSES in REQUEST. LIMITER, null if nothing is counted, must outlive it.
  LoginAttempt(const PageRequest& request, std::vector<Guess> guesses, LoginLimiter* limiter);
  LoginAttempt(const LoginAttempt&) = delete;
  LoginAttempt& operator=(const LoginAttempt&) = delete;
  ~LoginAttempt() { on_complete(); }

  /// Asks the limiter, before fossil is asked. Returns the refusal if a guess has to wait.
  std::optional<Refusal> begin();
  /// Whether the text of the reply is to be looked at, so that it must not be compressed.
  bool reads_body() const;
  void on_head(const http::ReplyHeader& header);
  /// More of the reply's body, which stays as it is.
  void on_body(evbuffer* body);
  /// That was all of it: what is still not known was neither right nor wrong.
  void on_complete();
  /// There will be no more of it, although some should have come.
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
  std::string tail_;  // of the body, that may be the beginning of what is looked for
};

}  // namespace quarry::pages
