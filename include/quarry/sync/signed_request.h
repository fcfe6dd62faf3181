// A signed request that is not a sync. It is signed as syncs are: the password is not transmitted,
// and the signed parts cannot be changed in transit.
//
//   Cookie: x-f-l-c=login+USER+NONCE+SIGNATURE    a login card, form-encoded, as in syncs
//   X-Quarry-Date: 2026-01-31T12:00:00.123Z       UTC, within kMaxSkew of the server's clock
//
//   NONCE      SHA3-256, 64 hex digits, of METHOD ␊ TARGET ␊ DATE ␊ BODY ␊ (␊: a newline)
//   TARGET     path and query as in the request line
//   DATE       the value of the header, unchanged
//   BODY       SHA3-256, 64 hex digits, of the body as transferred (of "" if there is none)
//   SIGNATURE  SHA1(NONCE ‖ secret); the secret is the stored form of the password: the SHA1 of
//              PROJECT-CODE/LOGIN/PASSWORD
//
// Since a body may be long, a login is checked in two steps: begin() checks the signature, and
// confirm() checks that the body is the signed one. signature() identifies a request, so that a
// caller can refuse a replay. An object lives for one request, in a worker or in `quarry http`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

inline constexpr std::chrono::minutes kMaxSkew{5};

struct SignedHead {
  std::string_view method = {};
  std::string_view target = {};
  std::string_view date = {};
  std::string_view cookie = {};
  /// The user that the web server authenticated; empty unless the pool trusts it.
  std::string_view remote_user = {};
};

/// The user that a request is from.
struct RequestUser {
  std::string login = "nobody";
  std::string letters;  // capabilities, including inherited ones; sorted
  bool is_logged_in = false;
};

class SignedRequest {
 public:
  /// The arguments are not owned. LOGINS may be null.
  SignedRequest(repository::Repository& repository, LoginGuard* logins);
  ~SignedRequest();
  SignedRequest(const SignedRequest&) = delete;
  SignedRequest& operator=(const SignedRequest&) = delete;

  /// Determines the user from HEAD; without a login it is `nobody`. Errors: kDenied (the login
  /// failed, or its date is too far from NOW), kInvalid (no date), those of snapshot().
  base::Result<void> begin(const SignedHead& head, base::UnixMillis now);
  /// Adds the next bytes of the body. Call after begin().
  void add_body(std::string_view bytes);
  /// Checks the signed hash. Call once, after the whole body was added. Error: kDenied.
  base::Result<void> confirm();

  const RequestUser& user() const { return user_; }
  /// Empty unless the user logged in with a password.
  const std::string& signature() const { return signature_; }
  /// The time when the request was signed.
  base::UnixMillis date() const { return date_; }
  const std::string& failed_login() const;

 private:
  base::Result<void> claim(const SignedHead& head, base::UnixMillis now);

  struct State;
  repository::Repository& repository_;
  LoginGuard* logins_;
  std::unique_ptr<State> state_;
  RequestUser user_;
  std::string signature_;
  base::UnixMillis date_;
};

/// The hash of BODY in the form in which it is signed.
std::string body_hash(std::string_view body);
/// The text whose SHA3-256 is the nonce.
std::string signed_text(std::string_view method, std::string_view target, std::string_view date,
                        std::string_view body_hash);

/// For clients: the Cookie header of a request by USER with PASSWORD.
std::string sign_request(std::string_view project_code, std::string_view user,
                         std::string_view password, std::string_view signed_text);

}  // namespace quarry::sync
