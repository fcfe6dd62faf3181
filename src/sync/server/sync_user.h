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
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "capabilities.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

/// The words of a login.
struct LoginCard {
  std::string user;  // fossilized
  std::string nonce;
  std::string signature;
};

class SyncUser {
 public:
  /// A visitor who is nobody yet. With SINGLE_LOGIN a second login is an error, and a fifth one in
  /// any case. LOGINS is not owned and may be null.
  SyncUser(repository::Repository& repository, bool single_login, LoginGuard* logins);

  /// A login card: its words as they came, and the bytes that it signs. Error: kDenied.
  base::Result<void> login(std::string_view user, std::string_view nonce,
                           std::string_view signature, std::string_view signed_bytes);
  /// The Cookie header of the request: does nothing unless it holds an x-f-l-c cookie, which is a
  /// login card, form-encoded, that signs the whole BODY. After it a login card is an error.
  /// A cookie that holds no login card is passed over. Error: kDenied.
  base::Result<void> login_cookie(std::string_view cookie, std::string_view body);
  /// The login in a Cookie header, if there is one.
  static std::optional<LoginCard> login_in(std::string_view cookie);
  /// Whether CARD shows that somebody with a password sends it; nobody is let in by it yet. SIGNS
  /// tells whether its nonce is the hash of what it signs, and is asked only where the signature is
  /// right. Error: kDenied, or what SIGNS has.
  base::Result<bool> proves(const LoginCard& card,
                            const std::function<base::Result<bool>(std::string_view nonce)>& signs);
  /// The first half of a login by CARD, which signs what is not known yet: its signature is right.
  /// The visitor has the rights of its user from here on, but what he asks for is not done before
  /// confirm(). Error: kDenied.
  base::Result<void> claim(const LoginCard& card);
  /// The second half: NONCE is the hash of what the card should sign. Error: kDenied.
  base::Result<void> confirm(std::string_view nonce);
  /// NAME was authenticated by the web server. Ignored unless the repository says
  /// `remote_user_ok`, or where there is no such user.
  void remote_user(std::string_view name);

  /// Grants every right.
  void trust() { rights_ |= Capabilities::of_letters("sxye"); }

  bool may(Right right) const { return rights_.may(right); }
  /// Those of user.cap that the rights come from, in no order, some more than once.
  const std::string& letters() const { return letters_; }
  /// As whom a login has failed, or was not looked at: whatever the client wrote.
  const std::string& failed_login() const { return failed_login_; }
  /// "nobody", or who logged in last.
  const std::string& name() const { return name_; }
  /// The same, but nothing for nobody.
  std::optional<std::string> login_name() const {
    return is_logged_in_ ? std::optional<std::string>(name_) : std::nullopt;
  }
  /// What a receipt says of the sender: user, nonce of the login if there was one.
  std::int64_t uid() const { return uid_; }
  const std::optional<std::string>& nonce() const { return nonce_; }

 private:
  base::Result<void> check(std::string_view user, std::string_view nonce,
                           std::string_view signature, std::string_view signed_bytes);
  /// LOGIN, if SIGNATURE is right for NONCE and he need not wait. It is the caller's to tell the
  /// guard when all is right.
  base::Result<repository::User> find(const std::string& login, std::string_view nonce,
                                      std::string_view signature);
  base::Result<void> let_in(const std::string& login, std::string_view nonce,
                            std::string_view signature, std::string_view signed_bytes);
  bool is_secret_of(const repository::User& user, std::string_view nonce,
                    std::string_view signature);
  /// USER's letters, and those that he is lent.
  std::string letters_of(const repository::User& user);
  void become(const repository::User& user);

  repository::Repository& repository_;
  const bool single_login_;
  LoginGuard* const logins_;
  int cards_ = 0;
  bool had_cookie_ = false;
  Capabilities rights_;
  std::string letters_;
  bool is_logged_in_ = false;
  std::string remote_user_;  // whom the web server let in, where the repository agrees
  std::string name_ = "nobody";
  std::string failed_login_;
  std::int64_t uid_ = 0;
  std::optional<std::string> nonce_;
  std::optional<LoginCard> claimed_;
};

}  // namespace quarry::sync
