// The user who sends a request, and the user's rights.
//
//   login USER NONCE SIGNATURE
//
//   NONCE      hash of all bytes after the card's newline: SHA1, or SHA3-256 if it has 64 digits
//   SIGNATURE  SHA1(NONCE ‖ secret); the secret is user.pw, normally itself the SHA1 of
//              PROJECT-CODE/LOGIN/PASSWORD. If user.pw is a clear password (in old files),
//              the secret is either the password or its hash.
//
// `nobody` and `anonymous` need a correct nonce but no signature; `developer`, `reader` and users
// without a password can never log in. The rights are the rights of `nobody` combined with the
// rights of all users that have logged in. The rights of `anonymous` are not included. The message
// for every failure is "login failed", so that clients cannot find out which users exist.
//
// A browser is logged in by a cookie of fossil's web pages. Its value is percent-encoded:
//
//   fossil-CODE=SECRET/PROJECT/USER
//
//   CODE       first 16 digits of the login group's code or, without a group, of the project code
//   SECRET     user.cookie, a random text; valid until user.cexpire
//   PROJECT    first 16 digits of the code of the project in which the user has logged in
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "capabilities.h"
#include "cards/login_card.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

/// Compares the secrets A and B. The time does not depend on the contents of A and B.
bool equal_in_constant_time(std::string_view a, std::string_view b);

class SyncUser {
 public:
  /// The user is initially `nobody`. If SINGLE_LOGIN is set, a second login is an error. A fifth
  /// login is always an error. LOGINS is not owned and may be null.
  SyncUser(repository::Repository& repository, bool single_login, LoginGuard* logins);

  /// Processes a login card that signs SIGNED_BYTES. Error: kDenied.
  Result<void> login(const LoginCard& card, std::string_view signed_bytes);
  /// Processes the request's Cookie header. The header is ignored unless it has an x-f-l-c cookie
  /// with a login card. The card must sign the whole BODY. After such a cookie, a login card in the
  /// body is an error. Error: kDenied.
  Result<void> login_cookie(std::string_view cookie, std::string_view body);
  /// Returns whether CARD proves that a user with a password has sent it. Does not grant any rights
  /// yet. SIGNS has to return whether a nonce is the hash of the signed bytes. SIGNS is called only
  /// if the signature is correct. Errors: kDenied, errors from SIGNS.
  Result<bool> proves(const LoginCard& card,
                      const std::function<Result<bool>(std::string_view nonce)>& signs);
  /// The first of two steps of a login with CARD, for the case that the signed bytes have not
  /// arrived yet. Checks the signature, and sets the user's rights. The caller must not execute the
  /// request before confirm() succeeds. Error: kDenied.
  Result<void> claim(const LoginCard& card);
  /// The second step of the login. NONCE is the hash of the signed bytes. Error: kDenied.
  Result<void> confirm(std::string_view nonce);
  /// Sets the user NAME, whom the web server has authenticated. Does nothing if the user does not
  /// exist or the repository's `remote_user_ok` setting is off.
  void remote_user(std::string_view name);

  /// Logs in the user who is logged in to fossil's web pages, according to COOKIE, the request's
  /// Cookie header. As on these pages, the user also gets the rights of `anonymous`. Returns the
  /// secret of the login, or an empty string if COOKIE does not contain a valid login.
  std::string web_login(std::string_view cookie);

  /// Grants all rights.
  void trust() { rights_ |= Capabilities::of_letters("sxye"); }

  bool may(Right right) const { return rights_.may(right); }
  /// Returns the letters of user.cap that grant the rights, unsorted, with duplicates.
  const std::string& letters() const { return letters_; }
  /// Returns the user name of a failed or delayed login, as the client sent it.
  const std::string& failed_login() const { return failed_login_; }
  /// Returns the name of the last user that has logged in, or "nobody" if no user has logged in.
  const std::string& name() const { return name_; }
  /// Like name(), but returns nullopt for `nobody`.
  std::optional<std::string> login_name() const {
    return is_logged_in_ ? std::optional<std::string>(name_) : std::nullopt;
  }
  /// The id of the user with name(), and the nonce of the last login, if any. A receipt records
  /// both.
  std::int64_t uid() const { return uid_; }
  const std::optional<std::string>& nonce() const { return nonce_; }

 private:
  Result<void> check(const LoginCard& card, std::string_view signed_bytes);
  /// Returns the user of CARD if the signature is correct and the login is not delayed. The caller
  /// has to record the success.
  Result<repository::User> find(const LoginCard& card);
  void record_success(std::string_view nonce);
  bool is_signed_by(const repository::User& user, const LoginCard& card);
  void become(const repository::User& user);

  repository::Repository& repository_;
  const bool single_login_;
  LoginGuard* const logins_;
  int cards_ = 0;
  bool had_cookie_ = false;
  Capabilities rights_;
  std::string letters_;
  bool is_logged_in_ = false;
  std::string remote_user_;  // authenticated by the web server; empty if remote_user_ok is off
  std::string name_ = "nobody";
  std::string failed_login_;
  std::int64_t uid_ = 0;
  std::optional<std::string> nonce_;
  std::optional<LoginCard> claimed_;
};

}  // namespace quarry::sync
