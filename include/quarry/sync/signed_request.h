// A signed request that is not a sync. It is signed in the same way as syncs. The password is not
// transmitted, and the signed parts cannot be changed in transit.
//
//   Cookie: x-f-l-c=login+USER+NONCE+SIGNATURE    a login card, form-encoded, as in syncs
//   X-Quarry-Date: 2026-01-31T12:00:00.123Z       UTC, within kMaxSkew of the server's clock
//
//   NONCE      SHA3-256, 64 hex digits, of METHOD ␊ TARGET ␊ DATE ␊ BODY ␊ (␊: a newline)
//   TARGET     path and query as in the request line
//   DATE       the value of the header, unchanged
//   BODY       SHA3-256, 64 hex digits, of the body as transferred, or of "" without a body
//   SIGNATURE  SHA1(NONCE ‖ secret); the secret is the stored form of the password: the SHA1 of
//              PROJECT-CODE/LOGIN/PASSWORD
//
// A login is checked in two steps, because the body can be long: begin() checks the signature, and
// confirm() checks that the body has the signed hash. signature() identifies a request, so that
// callers can reject replayed requests. An object is used for one request, in a worker or in
// `quarry http`.
//
// Browsers do not sign requests. A browser that is logged in to fossil's web pages sends the cookie
// of this login, even if a page of another site makes the request. Therefore, a form has to contain
// the token form_token(), which only our own pages contain.
#pragma once

#include <chrono>
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
  /// The user that the web server authenticated. Empty if the pool does not trust the web server.
  std::string_view remote_user = {};
  /// Whether a login on fossil's web pages is sufficient.
  bool takes_web_login = false;
};

struct RequestUser {
  std::string login = "nobody";
  std::string letters;  // capabilities, including inherited ones; sorted
  bool is_logged_in = false;
};

struct LoginCard;

class SignedRequest {
 public:
  /// The arguments are not owned. LOGINS may be null.
  SignedRequest(repository::Repository& repository, LoginGuard* logins);
  ~SignedRequest();
  SignedRequest(const SignedRequest&) = delete;
  SignedRequest& operator=(const SignedRequest&) = delete;

  /// Determines the user from HEAD. The user is `nobody` if HEAD does not have a login. Errors:
  /// kDenied (the login failed, or its date differs too much from NOW), kInvalid (the date is
  /// missing), errors from Repository::snapshot().
  Result<void> begin(const SignedHead& head, base::UnixMillis now);
  /// Adds the next bytes of the body. Call after begin().
  void add_body(std::string_view bytes);
  /// Checks that the body has the signed hash. Call once, after the whole body has been added.
  /// Error: kDenied.
  Result<void> confirm();

  const RequestUser& user() const { return user_; }
  /// Returns the signature of the login, or an empty string if the user did not log in with a
  /// password.
  const std::string& signature() const { return signature_; }
  /// Returns the time when the request was signed.
  base::UnixMillis date() const { return date_; }
  const std::string& failed_login() const;
  /// Returns the token of the user's login on fossil's web pages, or an empty string if the user
  /// did not log in there.
  const std::string& form_token() const { return form_token_; }
  /// Returns whether TOKEN is the token form_token().
  bool is_form_token(std::string_view token) const;

 private:
  Result<void> claim(const LoginCard& card, std::string_view date, base::UnixMillis now);

  struct State;
  repository::Repository& repository_;
  LoginGuard* logins_;
  std::unique_ptr<State> state_;
  RequestUser user_;
  std::string signature_;
  std::string form_token_;
  base::UnixMillis date_;
};

/// Returns the hash of BODY as it is used in the signed text.
std::string body_hash(std::string_view body);
/// Returns the text that is signed. Its SHA3-256 is the nonce.
std::string signed_text(std::string_view method, std::string_view target, std::string_view date,
                        std::string_view body_hash);

/// For clients: returns the Cookie header for a request by USER with PASSWORD.
std::string sign_request(std::string_view project_code, std::string_view user,
                         std::string_view password, std::string_view signed_text);

}  // namespace quarry::sync
