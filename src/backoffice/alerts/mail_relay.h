// Hands mails to an SMTP relay (email-send-method `relay`).
#pragma once

#include <memory>
#include <string>

#include "mail_sender.h"
#include "quarry/courier/smtp.h"

namespace quarry::backoffice {

class MailRelay : public MailSender {
 public:
  /// HOST is HOST or HOST:PORT (default: 25); DOMAIN is sent in the greeting. Errors: kInvalid.
  static base::Result<std::unique_ptr<MailSender>> make(const std::string& host,
                                                        const std::string& domain);

  base::Result<void> send(const RenderedMail& mail) override;

 private:
  MailRelay(std::string host, courier::SmtpOptions options);
  std::string host_;
  courier::SmtpSender smtp_;
};

}  // namespace quarry::backoffice
