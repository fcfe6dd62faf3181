// A request that is no sync, signed as one: nobody's password travels, and what was signed cannot be
// changed on the way.
//
//   Cookie: x-f-l-c=login+USER+NONCE+SIGNATURE    a login card, form-encoded, as syncs have it
//   X-Quarry-Date: 2026-01-31T12:00:00.123Z       UTC, not more than kMaxSkew off
//
//   NONCE      SHA3-256, 64 hex digits, of METHOD ␊ TARGET ␊ DATE ␊ BODY ␊ (␊: a newline)
//   TARGET     path and query as the request's first line has them
//   DATE       the value of the header, as it stands there
//   BODY       SHA3-256, 64 hex digits, of the body as it travels, and of nothing where it has none
//   SIGNATURE  SHA1(NONCE ‖ secret); the secret is what the repository keeps of a password: the SHA1
//              of PROJECT-CODE/LOGIN/PASSWORD
//
// The two halves of a login are apart here, since a body may be long: begin() looks at the signature,
// confirm() at what was signed. Whoever keeps what of a request must not happen twice knows it by its
// signature(). Lives as long as one request, in a worker or in `quarry http`.
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
  /// Who the web server says it authenticated; empty unless the pool trusts that.
  std::string_view remote_user = {};
};

/// Who asks.
struct RequestUser {
  std::string login = "nobody";
  std::string letters;        // capabilities, with those that `nobody` and others lend; sorted
  bool is_logged_in = false;  // has logged in
};

class SignedRequest {
 public:
  /// REPOSITORY is not owned; nor is LOGINS, which may be null.
  SignedRequest(repository::Repository& repository, LoginGuard* logins);
  ~SignedRequest();
  SignedRequest(const SignedRequest&) = delete;
  SignedRequest& operator=(const SignedRequest&) = delete;

  /// Who HEAD says it is from. A head without a login is nobody's. Errors: kDenied (the login
  /// failed, or its date is too far from NOW), kInvalid (no date). Those of snapshot().
  base::Result<void> begin(const SignedHead& head, base::UnixMillis now);
  /// The next bytes of the body; after begin().
  void add_body(std::string_view bytes);
  /// Whether that is so, now that all of the body was added. Once. Error: kDenied.
  base::Result<void> confirm();

  const RequestUser& user() const { return user_; }
  /// Of who logs in with a password; "": nobody does.
  const std::string& signature() const { return signature_; }
  /// When it was signed.
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

/// BODY's hash, as it is signed.
std::string body_hash(std::string_view body);
/// What is signed: the text whose SHA3-256 is the nonce.
std::string signed_text(std::string_view method, std::string_view target, std::string_view date,
                        std::string_view body_hash);

/// The client's side: the Cookie header of a request by USER with PASSWORD.
std::string sign_request(std::string_view project_code, std::string_view user,
                         std::string_view password, std::string_view signed_text);

}  // namespace quarry::sync
