// Sends the emails in the outbox one by one: claims an email, composes it, sends it, and records
// the outcome.
#pragma once

#include <optional>

#include "mail_sender.h"
#include "mail_text.h"
#include "quarry/backoffice/alerts.h"
#include "quarry/repository/mail_outbox.h"

namespace quarry::backoffice {

class AlertMailer {
 public:
  /// Creates a mailer. The arguments are not owned. Results are counted in REPORT.
  AlertMailer(repository::Repository& repository, const AlertOptions& options,
              const MailSettings& settings, const SendMail& send, AlertReport& report)
      : repository_(repository),
        options_(options),
        settings_(settings),
        send_(send),
        report_(report) {}

  /// Sends the emails that are due. Stops early at the end of the run, or if the sender does not
  /// work. The caller must not hold a Snapshot. The caller can hold a Receipt only in a rehearsal,
  /// which prints emails and does not commit anything.
  Result<void> run();

 private:
  enum class Outcome { kDone, kDeferred, kGivenUp };
  struct Attempt {
    repository::OutgoingMail mail;
    Outcome outcome = Outcome::kDone;
  };

  repository::MailTime now() const;
  Result<bool> has_due();
  Result<std::optional<repository::OutgoingMail>> record_and_claim(bool wants_more);
  Result<void> record_outcome();
  template <typename Action>
  Result<void> in_transaction(Action&& action);
  Result<std::optional<RenderedMail>> render(const repository::OutgoingMail& mail);
  Result<std::optional<RenderedMail>> render_in_snapshot(const repository::OutgoingMail& mail);
  Outcome attempt(const repository::OutgoingMail& mail);
  Outcome failure(const repository::OutgoingMail& mail, const Error& error);

  repository::Repository& repository_;
  const AlertOptions& options_;
  const MailSettings& settings_;
  const SendMail& send_;
  AlertReport& report_;
  std::optional<Attempt> last_;  // the last attempt, if its outcome is not recorded yet
  int failures_in_a_row_ = 0;
  bool can_go_on_ = true;
};

/// Adds TEXT to the report's complaints, up to the limit on their number.
void complain(AlertReport& report, std::string text);

}  // namespace quarry::backoffice
