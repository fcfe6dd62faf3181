// Sends a mail for each event, over SMTP or with a sendmail program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quarry/courier/options.h"
#include "quarry/courier/smtp.h"
#include "sender.h"

namespace quarry::courier {

/// The recipients of a mail about EVENT.
std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options);
/// A complete mail about EVENT, with all headers; lines end in LF.
std::string compose_mail(const event::Event& event, const DestinationOptions& options);

class MailSender final : public Sender {
 public:
  /// Errors: cannot read the password.
  static base::Result<std::unique_ptr<Sender>> make(const DestinationOptions& options,
                                                    Interrupted is_interrupted);

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;

 private:
  MailSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}
  DeliveryResult through_sendmail(const std::vector<std::string>& recipients,
                                  const std::string& message);
  DeliveryResult over_smtp(std::uint64_t id, const std::vector<std::string>& recipients,
                           const std::string& message);

  DestinationOptions options_;
  Interrupted is_interrupted_;
  std::unique_ptr<SmtpSender> smtp_;  // null: use sendmail
  /// By message id, the recipients that a retry must skip.
  std::map<std::uint64_t, std::set<std::string>> finished_;
};

}  // namespace quarry::courier
