#include "quarry/sync/signed_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/running_digest.h"
#include "quarry/http/syntax.h"
#include "sync_user.h"

namespace quarry::sync {

namespace {

std::string sorted_letters(std::string letters) {
  std::ranges::sort(letters);
  const auto rest = std::ranges::unique(letters);
  letters.erase(rest.begin(), rest.end());
  return letters;
}

/// Parses DATE, which is in UTC and can end with a Z.
std::optional<base::UnixMillis> parse_date(std::string_view date) {
  if (date.ends_with('Z')) date.remove_suffix(1);
  return base::parse_iso(date);
}

}  // namespace

struct SignedRequest::State {
  SyncUser sync_user;
  // The signed parts, except the body.
  std::string method, target, date;
  artifact::RunningDigest body = artifact::RunningDigest::sha3_256();
  bool has_login = false;
};

SignedRequest::SignedRequest(repository::Repository& repository, LoginGuard* logins)
    : repository_(repository), logins_(logins) {}

SignedRequest::~SignedRequest() = default;

Result<void> SignedRequest::begin(const SignedHead& head, base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  state_ = std::make_unique<State>(
      State{.sync_user = SyncUser(repository_, /*single_login=*/true, logins_),
            .method = std::string(head.method),
            .target = std::string(head.target),
            .date = std::string(head.date)});
  SyncUser& sync_user = state_->sync_user;
  const auto card = LoginCard::in_cookie(head.cookie);
  const std::string web_login =
      head.takes_web_login && !card ? sync_user.web_login(head.cookie) : std::string();
  if (!web_login.empty()) {
    // The token is a hash, so it does not reveal the secret of the login.
    form_token_ = artifact::sha3_256_hex(fmt::format("{}\nform", web_login));
  } else {
    sync_user.remote_user(head.remote_user);
  }
  if (card) QUARRY_TRY(claim(*card, head.date, now));
  user_ = {.login = sync_user.name(),
           .letters = sorted_letters(sync_user.letters()),
           .is_logged_in = sync_user.login_name().has_value()};
  return {};
}

Result<void> SignedRequest::claim(const LoginCard& card, std::string_view written,
                                  base::UnixMillis now) {
  const auto date = parse_date(written);
  if (!date) {
    return fail(ErrorCode::kInvalid,
                "a signed request needs the header X-Quarry-Date: YYYY-MM-DDTHH:MM:SSZ");
  }
  QUARRY_TRY(state_->sync_user.claim(card));
  const auto skew = std::chrono::milliseconds(std::abs(date->value - now.value));
  if (skew > kMaxSkew) {
    return fail(ErrorCode::kDenied,
                "the request's date differs by more than {} minutes from the server's "
                "time, {}Z: set the clock, or sign the request again",
                kMaxSkew.count(), base::iso_seconds(now));
  }
  state_->has_login = true;
  date_ = *date;
  if (state_->sync_user.login_name()) signature_ = card.signature;
  return {};
}

void SignedRequest::add_body(std::string_view bytes) {
  if (state_ && state_->has_login) state_->body.add(bytes);
}

Result<void> SignedRequest::confirm() {
  if (!state_ || !state_->has_login) return {};
  return state_->sync_user.confirm(artifact::sha3_256_hex(
      signed_text(state_->method, state_->target, state_->date, state_->body.hex())));
}

const std::string& SignedRequest::failed_login() const {
  static const std::string kNone;
  return state_ ? state_->sync_user.failed_login() : kNone;
}

bool SignedRequest::is_form_token(std::string_view token) const {
  return !form_token_.empty() && equal_in_constant_time(token, form_token_);
}

std::string body_hash(std::string_view body) {
  return artifact::sha3_256_hex(body);
}

std::string signed_text(std::string_view method, std::string_view target, std::string_view date,
                        std::string_view body_hash) {
  return fmt::format("{}\n{}\n{}\n{}\n", method, target, date, body_hash);
}

std::string sign_request(std::string_view project_code, std::string_view user,
                         std::string_view password, std::string_view signed_text) {
  const std::string card = login_card(user, stored_secret(project_code, user, password),
                                      artifact::sha3_256_hex(signed_text));
  return "x-f-l-c=" + http::percent_encode(card, "-", "+");
}

}  // namespace quarry::sync
