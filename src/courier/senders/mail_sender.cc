// Sends an email about each event, over SMTP or with a sendmail program.

#include <fmt/core.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <variant>

#include "quarry/base/log.h"
#include "quarry/courier/mail_message.h"
#include "quarry/courier/smtp.h"
#include "senders.h"

namespace quarry::courier {
namespace {

std::string domain_of(const std::string& address) {
  const std::size_t at = address.rfind('@');
  return at == std::string::npos ? "localhost" : address.substr(at + 1);
}

/// Returns whether the exit code of sendmail(8) means a permanent failure.
bool is_final_exit(int code) {
  constexpr auto kFinal = std::to_array<int>({EX_DATAERR, EX_NOUSER, EX_NOHOST, EX_UNAVAILABLE});
  return std::ranges::find(kFinal, code) != kFinal.end();
}

class MailSender final : public Sender {
 public:
  /// Creates a sender that uses SMTP or, if SMTP is null, a sendmail program.
  MailSender(const DestinationOptions& options, Interrupted is_interrupted,
             std::unique_ptr<SmtpSender> smtp)
      : options_(options), is_interrupted_(std::move(is_interrupted)), smtp_(std::move(smtp)) {}

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const std::string message = compose_mail(outgoing.event, options_);
    const auto recipients = recipients_of(outgoing.event, options_);
    return smtp_ ? over_smtp(outgoing.message.id, recipients, message)
                 : through_sendmail(recipients, message);
  }

 private:
  DeliveryResult through_sendmail(const std::vector<std::string>& recipients,
                                  const std::string& message) {
    base::Command command{{options_.sendmail, "-i", "-f", options_.from, "--"},
                          small_environment(),
                          message,
                          options_.delivery_timeout()};
    for (const std::string& each : recipients) command.words.push_back(each);
    // Let background processes continue, because some mail systems deliver in the background.
    command.background = base::Background::kContinues;
    const auto ended = run_to_deliver(command, is_interrupted_);
    if (!ended) return ended.error();
    if (ended->is_success()) return {};
    const bool is_exit = ended->how == base::CommandEnd::How::kExited;
    std::string why = fmt::format("{}: {}: {}", options_.sendmail, ended->in_words(),
                                  base::printable(ended->output));
    return is_exit && is_final_exit(ended->code) ? give_up(std::move(why))
                                                 : retry_later(std::move(why));
  }

  DeliveryResult over_smtp(std::uint64_t id, const std::vector<std::string>& recipients,
                           const std::string& message) {
    Mail mail{options_.from, {}, message};
    std::set<std::string>& finished = finished_[id];
    for (const std::string& each : recipients) {
      if (!finished.contains(each)) mail.recipients.push_back(each);
    }
    const MailReport report = smtp_->send(mail);
    if (report.is_any_deferred() && is_interrupted_())
      return {.outcome = spool::Outcome::kReturned};
    bool is_sent_to_some = mail.recipients.size() < recipients.size();
    for (std::size_t i = 0; i < report.recipients.size(); ++i) {
      const RecipientResult& result = report.recipients[i];
      if (result.outcome == MailOutcome::kDeferred) continue;
      if (result.outcome == MailOutcome::kSent) is_sent_to_some = true;
      if (result.outcome == MailOutcome::kRefused) {
        base::log(base::LogLevel::kWarning, "[{}] cannot send event {} to {}: {}", options_.name,
                  id, base::printable(mail.recipients[i]), result.why);
      }
      finished.insert(mail.recipients[i]);
    }
    if (report.is_any_deferred()) return retry_later(report.why());
    finished_.erase(id);
    return is_sent_to_some ? DeliveryResult{} : give_up(report.why());
  }

  DestinationOptions options_;
  Interrupted is_interrupted_;
  std::unique_ptr<SmtpSender> smtp_;
  /// The finished recipients of each message, by message id. A retry skips finished recipients.
  std::map<std::uint64_t, std::set<std::string>> finished_;
};

}  // namespace

std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options) {
  if (const auto* notice = std::get_if<event::Notice>(&event.record)) return {notice->address};
  // If mail goes to submitters, send a test to the sender's own address, because a test does not
  // have a submitter.
  if (options.is_to_submitter()) return {options.from};
  return options.to;
}

std::string compose_mail(const event::Event& event, const DestinationOptions& options) {
  MailMessage message;
  message.set_from("", options.from);
  for (const std::string& each : recipients_of(event, options)) message.add_recipient(each);
  message.set_subject(subject_of(event));
  message.set_date(event.head.time);
  // The id comes from the event's key, so that recipients can recognize duplicates.
  const std::string id = signature_of("quarry", event.head.key).substr(0, 40);
  message.set_message_id(fmt::format("{}@{}", id, domain_of(options.from)));
  message.set_token_header("Auto-Submitted", "auto-generated");
  message.set_token_header("X-Quarry-Event", std::string(event::type_of(event)));
  message.set_body(text_of(event));
  return message.text(MailMessage::LineEnd::kLf);
}

Result<std::unique_ptr<Sender>> make_mail_sender(const DestinationOptions& options,
                                                 Interrupted is_interrupted) {
  std::unique_ptr<SmtpSender> sender;
  if (options.sendmail.empty()) {
    SmtpOptions smtp{.start_tls = options.start_tls, .user = options.user};
    if (!options.url.empty()) smtp.url = options.url;
    if (!options.password_file.empty()) {
      QUARRY_TRY_ASSIGN(smtp.password, read_secret(options.password_file));
    }
    smtp.ca_file = options.ca_file;
    smtp.timeout = options.delivery_timeout();
    smtp.connect_timeout = std::min(smtp.connect_timeout, smtp.timeout);
    smtp.is_interrupted = is_interrupted;
    sender = std::make_unique<SmtpSender>(std::move(smtp));
  }
  return std::make_unique<MailSender>(options, std::move(is_interrupted), std::move(sender));
}

}  // namespace quarry::courier
