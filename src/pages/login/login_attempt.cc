#include "login_attempt.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "fields.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/base/result.h"
#include "quarry/base/url.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"
#include "quarry/repository/personal_address.h"
#include "quarry/repository/repository.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMaxTail = 80;
// Maximum number of users with one e-mail address.
constexpr std::size_t kMaxUsers = 16;
// Maximum time to wait for a locked repository. Other requests wait too.
constexpr std::chrono::milliseconds kMaxWait{500};

bool is_hidden(const Guess& guess) {
  return guess.kind == Guess::Kind::kHidden;
}

/// Returns the user for whom the reply sets a login cookie. Returns nullopt if the reply does not
/// set a login cookie, or deletes it.
std::optional<std::string> user_logged_in(const http::ReplyHeader& header) {
  for (const auto& [name, value] : header.fields) {
    if (!http::same_name(name, "Set-Cookie") || !value.starts_with("fossil-")) continue;
    const std::string_view cookie = std::string_view(value).substr(0, value.find(';'));
    const std::size_t start = std::min(cookie.find('='), cookie.size() - 1) + 1;
    if (auto user = user_of_cookie(decoded_as_fossil_does(cookie.substr(start)))) return user;
  }
  return std::nullopt;
}

Result<std::vector<std::string>> users_for(const std::string& file, const std::string& name) {
  QUARRY_TRY_ASSIGN(const auto repository,
                    repository::Repository::open(file, {.busy_timeout = kMaxWait}));
  QUARRY_TRY_ASSIGN(const auto snapshot, repository->snapshot());
  return repository::users_for_login(*repository, name, kMaxUsers + 1);
}

/// Replaces a guess for an e-mail address with a guess for each user with this address, because
/// fossil compares the password with the passwords of all these users.
std::optional<Refusal> resolve_addresses(std::vector<Guess>& guesses) {
  std::vector<Guess> resolved;
  for (Guess& guess : guesses) {
    const bool may_be_address = guess.user.contains('@') && (guess.kind == Guess::Kind::kForm ||
                                                             guess.kind == Guess::Kind::kJson ||
                                                             guess.kind == Guess::Kind::kBasic);
    const auto users = may_be_address ? users_for(guess.repository, guess.user)
                                      : std::vector<std::string>{guess.user};
    if (!users) {
      base::log(base::LogLevel::kError, "cannot find the user of a login: {}",
                users.error().message);
      return Refusal{503,
                     "the list of users cannot be read: log in with your user name instead of "
                     "your e-mail address"};
    }
    if (users->size() > kMaxUsers) {
      return Refusal{403, "too many users have this e-mail address: log in with your user name"};
    }
    for (const std::string& user : *users) {
      resolved.push_back(guess);
      resolved.back().user = user;
    }
    if (users->empty()) resolved.push_back(std::move(guess));
  }
  guesses = std::move(resolved);
  return std::nullopt;
}

}  // namespace

LoginAttempt::LoginAttempt(const PageRequest& request, std::vector<Guess> guesses,
                           LoginLimiter* limiter, std::atomic<std::uint64_t>* failed)
    : client_(
          fmt::format("client {}", base::printable(request.get(parameter::kRemoteAddress), 60))),
      address_(request.get(parameter::kRemoteAddress)),
      id_(request.get(parameter::kRequestId)),
      is_head_(request.is_head()),
      limiter_(limiter),
      failed_(failed) {
  request_ = fmt::format("{} \"{}\"", base::printable(request.get(parameter::kRequestMethod), 20),
                         base::printable(base::without_secrets(request.target()), 200));
  for (Guess& guess : guesses) all_.push_back({.guess = std::move(guess)});
}

// The client chooses the name and the URL, and could put a false address into them. Therefore, the
// client's real address comes first, as in the workers' log.
std::string LoginAttempt::in_words(std::string_view what, const Tried& one) const {
  std::string name;
  base::append_printable(name, one.guess.user, kLongestName, "\"");
  return fmt::format("{}: {} for \"{}\": {}", client_, what, name, request_);
}

std::optional<Refusal> LoginAttempt::begin() {
  if (limiter_ == nullptr) return std::nullopt;
  for (Tried& one : all_) {
    one.attempt = is_hidden(one.guess)
                      ? limiter_->attempt_of(address_)
                      : limiter_->attempt_of(one.guess.repository, one.guess.user, address_);
    const auto wait = limiter_->wait(one.attempt, LoginLimiter::now());
    one.is_begun = wait.count() == 0;
    if (one.is_begun) continue;
    const std::string text = fmt::format("too many failed logins: try again in {} s", wait.count());
    return Refusal{429, text, fmt::format("Retry-After: {}\r\n", wait.count()),
                   in_words(text, one)};
  }
  return std::nullopt;
}

bool LoginAttempt::reads_body() const {
  return std::ranges::any_of(all_, [](const Tried& one) { return !one.guess.sign.empty(); });
}

bool LoginAttempt::must_finish() const {
  return reads_body() ||
         std::ranges::any_of(all_, [](const Tried& one) { return !is_hidden(one.guess); });
}

void LoginAttempt::fail(Tried& one) {
  if (one.outcome != Outcome::kOpen) return;
  one.outcome = Outcome::kFailed;
  if (one.is_begun) limiter_->failed(one.attempt, LoginLimiter::now());
  if (failed_ != nullptr) ++*failed_;
  const base::LogRequest logged(id_);
  base::log(base::LogLevel::kNotice, "{}", in_words("login failed", one));
}

void LoginAttempt::succeed(Tried& one) {
  one.outcome = Outcome::kSucceeded;
  if (one.is_begun) limiter_->succeeded(one.attempt, LoginLimiter::now());
}

void LoginAttempt::skip(Tried& one) {
  if (one.outcome != Outcome::kOpen) return;
  one.outcome = Outcome::kSkipped;
  if (one.is_begun) limiter_->unchecked(one.attempt, LoginLimiter::now());
}

void LoginAttempt::on_unauthorized(const http::ReplyHeader& header) {
  // Fossil never sends WWW-Authenticate, so a reply with this header is from one of the operator's
  // scripts. Such a reply does not show that fossil has found a hidden password.
  const bool is_challenge = std::ranges::any_of(header.fields, [](const auto& field) {
    return http::same_name(field.first, "WWW-Authenticate");
  });
  for (Tried& one : all_) {
    if (!is_challenge || !is_hidden(one.guess)) fail(one);
  }
}

void LoginAttempt::on_head(const http::ReplyHeader& header) {
  if (header.status == 401) return on_unauthorized(header);
  const auto user = user_logged_in(header);
  for (Tried& one : all_) {
    if (is_hidden(one.guess)) continue;
    const bool is_login =
        one.guess.kind == Guess::Kind::kForm || one.guess.kind == Guess::Kind::kJson;
    // Count a success only for the user in the cookie. Other users with the same e-mail address
    // might have other passwords.
    if (is_login && user) {
      if (*user == one.guess.user) succeed(one);
      continue;
    }
    if (one.guess.sign.empty()) {
      skip(one);
      continue;
    }
    // The reply to a HEAD request does not have a body that could show a wrong password. So each
    // guess counts as wrong. Redirects are different, because fossil never redirects after a wrong
    // password.
    const bool is_redirect = header.status >= 300 && header.status < 400;
    if (is_head_ && !is_redirect) fail(one);
  }
}

void LoginAttempt::on_body(evbuffer* body) {
  if (!reads_body()) return;
  std::string text = std::move(tail_);
  const std::size_t before = text.size();
  text.resize(before + evbuffer_get_length(body));
  evbuffer_copyout(body, text.data() + before, text.size() - before);
  for (Tried& one : all_) {
    if (!one.guess.sign.empty() && text.contains(one.guess.sign)) fail(one);
  }
  tail_ = text.substr(text.size() - std::min(text.size(), kMaxTail));
}

void LoginAttempt::on_complete() {
  for (Tried& one : all_) skip(one);
}

void LoginAttempt::on_fault() {
  for (Tried& one : all_) {
    // On a login page, a fault counts as a wrong password, because a fault does not show whether
    // the password was correct. Basic and hidden guesses can be on any page, where a fault usually
    // has other causes.
    if (one.guess.kind != Guess::Kind::kBasic && !is_hidden(one.guess)) fail(one);
  }
}

Logins::Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
               bool trust_remote_user, std::atomic<std::uint64_t>* failed)
    : pages_(std::move(pages)), trust_remote_user_(trust_remote_user), failed_(failed) {
  if (memory != nullptr && allowed > 0) limiter_.emplace(*memory, allowed);
}

std::expected<std::unique_ptr<LoginAttempt>, Refusal> Logins::begin(PageRequest& request,
                                                                    const Target& target) {
  auto guesses = guesses_in(request, target, pages_, trust_remote_user_);
  if (!guesses) return std::unexpected(std::move(guesses.error()));
  if (guesses->empty()) return nullptr;
  if (limiter_) {
    if (auto refusal = resolve_addresses(*guesses)) return std::unexpected(std::move(*refusal));
  }
  auto attempt = std::make_unique<LoginAttempt>(request, std::move(*guesses),
                                                limiter_ ? &*limiter_ : nullptr, failed_);
  if (auto refusal = attempt->begin()) return std::unexpected(std::move(*refusal));
  return attempt;
}

}  // namespace quarry::pages
