// Mails handed to an SMTP server near by, which delivers them (email-send-method `relay`).
#pragma once

#include <memory>
#include <string>

#include "mail_sender.h"
#include "quarry/courier/smtp.h"

namespace quarry::backoffice {

class MailRelay : public MailSender {
 public:
  /// HOST is HOST or HOST:PORT, the latter 25 where it is not said; DOMAIN is ours, for the
  /// greeting. Error: kInvalid.
  static base::Result<std::unique_ptr<MailSender>> make(const std::string& host,
                                                        const std::string& domain);

  base::Result<void> send(const RenderedMail& mail) override;

 private:
  MailRelay(std::string host, courier::SmtpOptions options);
  std::string host_;
  courier::SmtpSender smtp_;
};

}  // namespace quarry::backoffice
