// Who sends the request, and what they may do. One Visitor lives as long as one request.
//
//   login USER NONCE SIGNATURE
//
//   NONCE      hash of everything after the card's newline: SHA1, or SHA3-256 with 64 digits
//   SIGNATURE  SHA1(NONCE ‖ secret); the secret is user.pw, normally itself the SHA1 of
//              PROJECT-CODE/LOGIN/PASSWORD. Where user.pw is a clear password (old files), clients
//              may have used it as it stands or the hash made of it.
//
// `nobody` and `anonymous` need a right nonce but no signature; `developer`, `reader` and users
// without a password never log in. Rights are those of `nobody` and of everybody who logged in,
// together; those of `anonymous` do not count. All failures read "login failed", so that nobody can
// ask who exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "capabilities.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/server_session.h"

namespace quarry::sync {

class Visitor {
 public:
  /// A visitor who is nobody yet. With SINGLE_LOGIN a second login is an error. LOGINS is not owned
  /// and may be null.
  Visitor(repository::Repository& repository, bool single_login, LoginGuard* logins);

  /// A login card: its words as they came, and the bytes that it signs. Error: kDenied.
  base::Result<void> login(std::string_view user, std::string_view nonce,
                           std::string_view signature, std::string_view signed_bytes);
  /// The Cookie header of the request: does nothing unless it holds an x-f-l-c cookie, which is a
  /// login card, form-encoded, that signs the whole BODY. After it a login card is an error.
  /// Errors: kDenied, kInvalid.
  base::Result<void> login_cookie(std::string_view cookie, std::string_view body);
  /// NAME was authenticated by the web server. Ignored unless the repository says
  /// `remote_user_ok`, or where there is no such user.
  void remote_user(std::string_view name);

  /// Grants every right.
  void trust() { rights_ |= Capabilities::of_letters("sxye"); }

  bool may(Right right) const { return rights_.may(right); }
  /// "nobody", or who logged in last.
  const std::string& name() const { return name_; }
  /// The same, but nothing for nobody.
  std::optional<std::string> login_name() const {
    return is_somebody_ ? std::optional<std::string>(name_) : std::nullopt;
  }
  /// What a receipt says of the sender: user, nonce of the login if there was one.
  std::int64_t uid() const { return uid_; }
  const std::optional<std::string>& nonce() const { return nonce_; }

 private:
  base::Result<void> check(std::string_view user, std::string_view nonce,
                           std::string_view signature, std::string_view signed_bytes);
  bool is_secret_of(const repository::User& user, std::string_view nonce,
                    std::string_view signature);
  Capabilities rights_of(const repository::User& user);
  void become(const repository::User& user);

  repository::Repository& repository_;
  const bool single_login_;
  LoginGuard* const logins_;
  bool had_card_ = false;
  bool had_cookie_ = false;
  Capabilities rights_;
  bool is_somebody_ = false;
  std::string remote_user_;  // whom the web server let in, where the repository agrees
  std::string name_ = "nobody";
  std::int64_t uid_ = 0;
  std::optional<std::string> nonce_;
};

}  // namespace quarry::sync
