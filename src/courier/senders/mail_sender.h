// A mail for each event, over SMTP or through a sendmail program.
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

/// Whom a mail of EVENT goes to.
std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options);
/// EVENT as a mail with all its headers, and lines that end in LF.
std::string compose_mail(const event::Event& event, const DestinationOptions& options);

class MailSender final : public Sender {
 public:
  /// Errors: the password cannot be read.
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
  std::unique_ptr<SmtpSender> smtp_;  // null: sendmail
  /// By the id of a message that is to be tried again, who is not to get it once more.
  std::map<std::uint64_t, std::set<std::string>> finished_;
};

}  // namespace quarry::courier
