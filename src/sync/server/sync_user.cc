#include "sync_user.h"

#include <fmt/core.h>
#include <openssl/crypto.h>

#include "quarry/artifact/digest.h"
#include "quarry/base/blanks.h"
#include "quarry/base/hex.h"
#include "quarry/base/split.h"
#include "quarry/http/form.h"

namespace quarry::sync {
namespace {

// The number of logins is limited because each login card, even without a password, makes the
// server hash all bytes after it. More logins would not add rights.
constexpr int kMaxLogins = 4;

std::unexpected<Error> login_failed() {
  return fail(ErrorCode::kDenied, "login failed");
}

/// Returns whether USER is `nobody` or `anonymous`. If one of these users logs in, the login card
/// does not need a signature and does not add any rights.
bool is_guest(std::string_view user) {
  return user == "nobody" || user == "anonymous";
}

bool is_hash_of(std::string_view nonce, std::string_view bytes) {
  if (nonce.size() == 64) return nonce == artifact::sha3_256_hex(bytes);
  return nonce.size() == 40 && nonce == artifact::sha1_hex(bytes);
}

bool signs(std::string_view signature, std::string_view nonce, std::string_view secret) {
  return equal_in_constant_time(signature, artifact::sha1_hex(fmt::format("{}{}", nonce, secret)));
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

SyncUser::SyncUser(repository::Repository& repository, bool single_login, LoginGuard* logins)
    : repository_(repository), single_login_(single_login), logins_(logins) {
  const auto nobody = repository_.settings().find_user("nobody");
  if (!nobody) return;
  uid_ = nobody->uid;
  letters_ = repository_.settings().all_capabilities(*nobody);
  rights_ = Capabilities::of_letters(letters_);
}

Result<void> SyncUser::login(const LoginCard& card, std::string_view signed_bytes) {
  if (had_cookie_ || (cards_ > 0 && single_login_)) {
    return fail(ErrorCode::kDenied, "multiple login cards");
  }
  if (++cards_ > kMaxLogins) {
    return fail(ErrorCode::kDenied, "more than {} login cards", kMaxLogins);
  }
  return check(card, signed_bytes);
}

Result<void> SyncUser::login_cookie(std::string_view cookie, std::string_view body) {
  const auto card = LoginCard::in_cookie(cookie);
  had_cookie_ = card.has_value();
  return card ? check(*card, body) : Result<void>{};
}

void SyncUser::remote_user(std::string_view name) {
  if (name.empty() || !repository_.settings().get_bool("remote_user_ok", false)) return;
  const auto user = repository_.settings().find_user(name);
  if (!user) return;
  remote_user_ = name;
  become(*user);
}

std::string SyncUser::web_login(std::string_view cookie) {
  repository::Settings settings = repository_.settings();
  constexpr std::size_t kDigits = 16;
  const std::string code = settings.get("login-group-code").value_or(settings.project_code());
  const std::string name = fmt::format("fossil-{}=", code.substr(0, kDigits));
  while (!cookie.empty()) {
    const std::string_view pair = base::trim_blanks(base::take_until(cookie, ';'));
    if (!pair.starts_with(name)) continue;
    const std::string value = http::form_decode_leniently(pair.substr(name.size()));
    std::string_view login = value;
    const std::string_view secret = base::take_until(login, '/');
    base::take_until(login, '/');
    if (is_guest(login) || login == "developer" || login == "reader") continue;
    std::string stored = settings.web_login_of(login);
    const auto user = settings.find_user(login);
    if (stored.empty() || !user || !equal_in_constant_time(secret, stored)) continue;
    if (const auto anonymous = settings.find_user("anonymous")) become(*anonymous);
    become(*user);
    return stored;
  }
  return {};
}

Result<void> SyncUser::check(const LoginCard& card, std::string_view signed_bytes) {
  failed_login_ = card.user;
  if (!is_hash_of(card.nonce, signed_bytes)) return login_failed();
  const bool is_let_in = !remote_user_.empty() && card.user == remote_user_;
  if (!is_guest(card.user) && !is_let_in) {
    QUARRY_TRY_ASSIGN(const repository::User found, find(card));
    become(found);
    record_success(card.nonce);
  }
  failed_login_.clear();
  return {};
}

Result<bool> SyncUser::proves(const LoginCard& card,
                              const std::function<Result<bool>(std::string_view nonce)>& signs) {
  if (is_guest(card.user)) return false;
  failed_login_ = card.user;
  QUARRY_TRY(find(card));
  QUARRY_TRY_ASSIGN(const bool is_signed, signs(card.nonce));
  if (!is_signed) return login_failed();
  failed_login_.clear();
  record_success(card.nonce);
  return true;
}

Result<void> SyncUser::claim(const LoginCard& card) {
  claimed_ = card;
  if (is_guest(card.user)) return {};
  failed_login_ = card.user;
  QUARRY_TRY_ASSIGN(const repository::User found, find(card));
  failed_login_.clear();
  become(found);
  return {};
}

Result<void> SyncUser::confirm(std::string_view nonce) {
  if (!claimed_) return login_failed();
  if (!equal_in_constant_time(claimed_->nonce, nonce)) {
    failed_login_ = claimed_->user;
    return login_failed();
  }
  if (!is_guest(claimed_->user)) record_success(nonce);
  return {};
}

Result<repository::User> SyncUser::find(const LoginCard& card) {
  if (card.user == "developer" || card.user == "reader") return login_failed();
  if (logins_ != nullptr) {
    if (const auto wait = logins_->wait(card.user); wait.count() > 0) {
      return fail(ErrorCode::kDenied, "too many failed logins: try again in {} s", wait.count());
    }
  }
  auto found = repository_.settings().find_user(card.user);
  if (found && is_signed_by(*found, card)) return *std::move(found);
  if (logins_ != nullptr) logins_->record(false);
  return login_failed();
}

void SyncUser::record_success(std::string_view nonce) {
  if (logins_ != nullptr) logins_->record(true);
  nonce_ = nonce;
}

bool SyncUser::is_signed_by(const repository::User& user, const LoginCard& card) {
  if (user.secret.empty()) return false;
  if (signs(card.signature, card.nonce, user.secret)) return true;
  const bool is_hash = user.secret.size() == 40 && base::is_hex(user.secret);
  return !is_hash &&
         signs(card.signature, card.nonce,
               stored_secret(repository_.settings().project_code(), user.login, user.secret));
}

void SyncUser::become(const repository::User& user) {
  const std::string letters = repository_.settings().all_capabilities(user);
  rights_ |= Capabilities::of_letters(letters);
  letters_ += letters;
  is_logged_in_ = true;
  name_ = user.login;
  uid_ = user.uid;
}

}  // namespace quarry::sync
