#include "sync_user.h"

#include <fmt/core.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/hex.h"
#include "quarry/http/form.h"

namespace quarry::sync {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::string_view kLoginCookie = "x-f-l-c";

// More logins would add no rights, and each card, even without a password, costs a hash of
// everything after it.
constexpr int kMaxLogins = 4;

std::unexpected<base::Error> login_failed() {
  return fail(ErrorCode::kDenied, "login failed");
}
std::unexpected<base::Error> multiple_logins() {
  return fail(ErrorCode::kDenied, "multiple login cards");
}
std::unexpected<base::Error> too_many_logins() {
  return fail(ErrorCode::kDenied, fmt::format("more than {} login cards", kMaxLogins));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_hash_of(std::string_view nonce, std::string_view bytes) {
  if (nonce.size() == 64) return nonce == artifact::sha3_256_hex(bytes);
  return nonce.size() == 40 && nonce == artifact::sha1_hex(bytes);
}

bool signs(std::string_view signature, std::string_view nonce, std::string_view secret) {
  std::string text(nonce);
  text += secret;
  return equal_in_constant_time(signature, artifact::sha1_hex(text));
}

bool is_hashed_secret(std::string_view secret) {
  return secret.size() == 40 && base::is_hex(secret);
}

/// The value of the cookie NAME in HEADER.
std::optional<std::string_view> find_cookie(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    while (!pair.empty() && pair.back() == ' ') pair.remove_suffix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

/// Splits CARD at spaces into exactly as many words as WORDS holds.
template <std::size_t kCount>
bool split_words(std::string_view card, std::array<std::string_view, kCount>& words) {
  std::size_t count = 0;
  while (true) {
    const std::size_t begin = card.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return count == kCount;
    if (count == kCount) return false;
    card.remove_prefix(begin);
    const std::size_t end = std::min(card.find_first_of(" \t\r\n"), card.size());
    words[count++] = card.substr(0, end);
    card.remove_prefix(end);
  }
}

}  // namespace

SyncUser::SyncUser(repository::Repository& repository, bool single_login, LoginGuard* logins)
    : repository_(repository), single_login_(single_login), logins_(logins) {
  const auto nobody = repository_.settings().find_user("nobody");
  if (!nobody) return;
  uid_ = nobody->uid;
  letters_ = letters_of(*nobody);
  rights_ = Capabilities::of_letters(letters_);
}

Result<void> SyncUser::login(std::string_view user, std::string_view nonce,
                             std::string_view signature, std::string_view signed_bytes) {
  if (had_cookie_ || (cards_ > 0 && single_login_)) return multiple_logins();
  if (++cards_ > kMaxLogins) return too_many_logins();
  return check(user, nonce, signature, signed_bytes);
}

Result<void> SyncUser::login_cookie(std::string_view cookie, std::string_view body) {
  const auto card = login_in(cookie);
  if (!card) return {};
  had_cookie_ = true;
  return check(card->user, card->nonce, card->signature, body);
}

void SyncUser::remote_user(std::string_view name) {
  if (name.empty() || !repository_.settings().get_bool("remote_user_ok", false)) return;
  const auto user = repository_.settings().find_user(name);
  if (!user) return;
  remote_user_ = name;
  become(*user);
}

Result<void> SyncUser::check(std::string_view user, std::string_view nonce,
                             std::string_view signature, std::string_view signed_bytes) {
  const std::string login = artifact::defossilize(user);
  auto done = log_in(login, nonce, signature, signed_bytes);
  if (!done) failed_login_ = login;
  return done;
}

Result<void> SyncUser::log_in(const std::string& login, std::string_view nonce,
                              std::string_view signature, std::string_view signed_bytes) {
  if (!is_hash_of(nonce, signed_bytes)) return login_failed();
  if (login == "nobody" || login == "anonymous") return {};
  if (login == remote_user_ && !login.empty()) return {};
  if (login == "developer" || login == "reader") return login_failed();
  QUARRY_TRY_ASSIGN(const repository::User found, find(login, nonce, signature));
  if (logins_ != nullptr) logins_->record(true);
  become(found);
  nonce_ = nonce;
  return {};
}

std::optional<LoginCard> SyncUser::login_in(std::string_view cookie) {
  const auto value = find_cookie(cookie, kLoginCookie);
  if (!value) return std::nullopt;
  const std::string card = http::form_decode_leniently(*value);
  std::array<std::string_view, 4> words;
  // Anything other than a login card is ignored, and one in the body counts.
  if (!split_words(card, words) || words[0] != "login") return std::nullopt;
  return LoginCard{std::string(words[1]), std::string(words[2]), std::string(words[3])};
}

Result<bool> SyncUser::proves(const LoginCard& card,
                              const std::function<Result<bool>(std::string_view nonce)>& signs) {
  const std::string login = artifact::defossilize(card.user);
  if (login == "nobody" || login == "anonymous") return false;
  failed_login_ = login;
  if (login == "developer" || login == "reader") return login_failed();
  QUARRY_TRY(find(login, card.nonce, card.signature));
  QUARRY_TRY_ASSIGN(const bool is_signed, signs(card.nonce));
  if (!is_signed) return login_failed();
  failed_login_.clear();
  if (logins_ != nullptr) logins_->record(true);
  return true;
}

Result<void> SyncUser::claim(const LoginCard& card) {
  const std::string login = artifact::defossilize(card.user);
  claimed_ = card;
  if (login == "nobody" || login == "anonymous") return {};
  failed_login_ = login;
  if (login == "developer" || login == "reader") return login_failed();
  QUARRY_TRY_ASSIGN(const repository::User found, find(login, card.nonce, card.signature));
  failed_login_.clear();
  become(found);
  return {};
}

Result<void> SyncUser::confirm(std::string_view nonce) {
  if (!claimed_) return login_failed();
  const std::string login = artifact::defossilize(claimed_->user);
  if (!equal_in_constant_time(claimed_->nonce, nonce)) {
    failed_login_ = login;
    return login_failed();
  }
  if (login == "nobody" || login == "anonymous") return {};
  if (logins_ != nullptr) logins_->record(true);
  nonce_ = nonce;
  return {};
}

Result<repository::User> SyncUser::find(const std::string& login, std::string_view nonce,
                                        std::string_view signature) {
  if (logins_ != nullptr) {
    if (const auto wait = logins_->wait(login); wait.count() > 0) {
      return fail(ErrorCode::kDenied,
                  fmt::format("too many failed logins: try again in {} s", wait.count()));
    }
  }
  auto found = repository_.settings().find_user(login);
  if (found && is_secret_of(*found, nonce, signature)) return *std::move(found);
  if (logins_ != nullptr) logins_->record(false);
  return login_failed();
}

bool SyncUser::is_secret_of(const repository::User& user, std::string_view nonce,
                            std::string_view signature) {
  if (user.secret.empty()) return false;
  if (signs(signature, nonce, user.secret)) return true;
  if (is_hashed_secret(user.secret)) return false;
  std::string text = repository_.settings().project_code();
  text += '/';
  text += user.login;
  text += '/';
  text += user.secret;
  return signs(signature, nonce, artifact::sha1_hex(text));
}

std::string SyncUser::letters_of(const repository::User& user) {
  std::string letters = user.capabilities;
  const auto lend = [&](std::string_view login) {
    const auto lender = repository_.settings().find_user(login);
    const std::string lent = lender ? lender->capabilities : std::string();
    letters += lent;
    return lent;
  };
  bool reader = user.capabilities.find('u') != std::string::npos;
  const bool developer = user.capabilities.find('v') != std::string::npos;
  // The two may inherit from each other; each is looked up at most once.
  if (developer) reader = lend("developer").find('u') != std::string::npos || reader;
  if (reader && lend("reader").find('v') != std::string::npos && !developer) lend("developer");
  return letters;
}

void SyncUser::become(const repository::User& user) {
  const std::string letters = letters_of(user);
  rights_ |= Capabilities::of_letters(letters);
  letters_ += letters;
  is_logged_in_ = true;
  name_ = user.login;
  uid_ = user.uid;
}

}  // namespace quarry::sync
