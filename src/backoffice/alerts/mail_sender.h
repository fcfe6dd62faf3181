// Sends mails: one class for each email-send-method. A sender is used for a whole run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// A mail that is ready to send.
struct RenderedMail {
  std::string from;     // address for bounces
  std::string to;       // address
  std::string message;  // header and body (RFC 5322), lines end in CRLF
};

class MailSender {
 public:
  virtual ~MailSender() = default;
  /// On success, another program has taken responsibility for MAIL. Errors: kDenied (permanent),
  /// kBusy (nothing can be sent now), others (temporary, for this mail).
  virtual base::Result<void> send(const RenderedMail& mail) = 0;
};

/// The sender that REPOSITORY's settings select, or null if mail is disabled. Inside a Snapshot or
/// a Receipt. Errors: kInvalid (a setting is missing).
base::Result<std::unique_ptr<MailSender>> make_sender(repository::Repository& repository);

/// Prints mails to standard output.
std::unique_ptr<MailSender> make_printer();

}  // namespace quarry::backoffice
