#include "alert_mailer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "mail_choice.h"
#include "quarry/base/escape.h"

namespace quarry::backoffice {

using repository::AlertEvent;
using repository::MailKind;
using repository::MailOutbox;
using repository::MailTime;
using repository::OutgoingMail;

namespace {

// Time for which a run claims an email, longer than any attempt to send the email. If the run is
// killed, another run sends the email after this time.
constexpr MailTime kClaim = std::chrono::minutes(5);
constexpr MailTime kFirstDelay = std::chrono::minutes(1);
constexpr MailTime kMaxDelay = std::chrono::hours(1);
constexpr MailTime kLifetime = std::chrono::days(5);
// After this number of consecutive failures, the run ends, because the problem is probably the
// sender and not the emails.
constexpr int kMaxFailures = 3;
constexpr std::size_t kMaxComplaints = 10;
// Maximum number of attempts to record an outcome. Another process might hold the lock for a long
// time. Without a recorded outcome, the email would be sent again.
constexpr int kMaxRecordAttempts = 6;

MailTime delay_after(std::int64_t attempts) {
  return std::min(kMaxDelay, kFirstDelay * (1 << std::clamp<std::int64_t>(attempts, 0, 10)));
}

}  // namespace

void complain(AlertReport& report, std::string text) {
  if (report.complaints.size() < kMaxComplaints) report.complaints.push_back(std::move(text));
}

MailTime AlertMailer::now() const {
  return MailTime(options_.clock->now().value / 1000);
}

template <typename Action>
Result<void> AlertMailer::in_transaction(Action&& action) {
  if (options_.is_rehearsal) return action();
  for (int tries = 1;; ++tries) {
    auto receipt = repository_.receive();
    if (!receipt && receipt.error().code == ErrorCode::kBusy && last_ &&
        tries < kMaxRecordAttempts) {
      continue;
    }
    if (!receipt) return std::unexpected(receipt.error());
    QUARRY_TRY(action());
    return receipt->commit();
  }
}

Result<void> AlertMailer::record_outcome() {
  MailOutbox outbox(repository_);
  if (!last_) return {};
  if (last_->outcome == Outcome::kDeferred) {
    return outbox.defer(last_->mail, now() + delay_after(last_->mail.attempts));
  }
  return outbox.remove(last_->mail);
}

Result<std::optional<OutgoingMail>> AlertMailer::record_and_claim(bool wants_more) {
  std::optional<OutgoingMail> mail;
  if (!last_ && !wants_more) return mail;
  const auto step = [&]() -> Result<void> {
    QUARRY_TRY(record_outcome());
    if (!wants_more) return {};
    QUARRY_TRY_ASSIGN(mail, MailOutbox(repository_).claim(now(), now() + kClaim));
    return {};
  };
  QUARRY_TRY(in_transaction(step));
  last_.reset();
  return mail;
}

Result<bool> AlertMailer::has_due() {
  if (options_.is_rehearsal) return true;
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return MailOutbox(repository_).has_due(now());
}

Result<void> AlertMailer::run() {
  QUARRY_TRY_ASSIGN(const bool has_any, has_due());
  if (!has_any) return {};
  while (true) {
    const bool wants_more = can_go_on_ && !(options_.is_over && options_.is_over());
    QUARRY_TRY_ASSIGN(const auto mail, record_and_claim(wants_more));
    if (!mail) return {};
    last_ = Attempt{*mail, attempt(*mail)};
  }
}

Result<std::optional<RenderedMail>> AlertMailer::render(const OutgoingMail& mail) {
  std::vector<AlertEvent> events;
  for (const repository::AlertReference& reference : mail.about) {
    // Check again, because the subscriber's rights might have changed since the email was queued.
    if (!may_see(mail.capabilities, reference)) continue;
    // Skip the request to moderate an event that was approved in the meantime.
    if (reference.needs_moderator && !repository_.is_private(reference.rid)) continue;
    QUARRY_TRY_ASSIGN(
        auto event, repository::Alerts(repository_).event(reference, mail.kind == MailKind::kPost));
    if (event) events.push_back(std::move(*event));
  }
  return compose(mail, events, settings_, options_.clock->now());
}

Result<std::optional<RenderedMail>> AlertMailer::render_in_snapshot(const OutgoingMail& mail) {
  if (options_.is_rehearsal) return render(mail);
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return render(mail);
}

AlertMailer::Outcome AlertMailer::failure(const OutgoingMail& mail, const Error& error) {
  const bool is_old = now() - mail.made > kLifetime;
  const bool is_given_up = error.code == ErrorCode::kDenied || is_old;
  ++(is_given_up ? report_.given_up : report_.failed);
  // Continue after the server has refused an email, because the server might accept other emails.
  if (error.code == ErrorCode::kDenied) {
    failures_in_a_row_ = 0;
  } else if (++failures_in_a_row_ >= kMaxFailures || error.code == ErrorCode::kBusy) {
    can_go_on_ = false;
  }
  complain(report_, fmt::format("mail to {}: {} ({})", base::printable(mail.address), error.message,
                                is_given_up ? "given up" : "will be retried"));
  return is_given_up ? Outcome::kGivenUp : Outcome::kDeferred;
}

AlertMailer::Outcome AlertMailer::attempt(const OutgoingMail& mail) {
  if (!is_mail_address(mail.address)) {
    return failure(mail, {ErrorCode::kDenied, "invalid address"});
  }
  auto made = render_in_snapshot(mail);
  // Treat an unreadable artifact as a failure of this email, so that it does not block the emails
  // to other subscribers.
  if (!made) return failure(mail, made.error());
  const std::optional<RenderedMail> rendered = std::move(*made);
  if (!rendered) return Outcome::kDone;
  if (const auto sent = send_(*rendered); !sent) return failure(mail, sent.error());
  failures_in_a_row_ = 0;
  ++report_.sent;
  return Outcome::kDone;
}

}  // namespace quarry::backoffice
