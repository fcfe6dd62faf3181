// How a mail leaves: one class for each email-send-method. Who sends holds one for a whole run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// A mail as it is handed over.
struct RenderedMail {
  std::string from;     // an address, for reports of what went wrong
  std::string to;       // an address
  std::string message;  // header and body (RFC 5322), lines ended by CRLF
};

class MailSender {
 public:
  virtual ~MailSender() = default;
  /// When this returns, LETTER is somebody else's to deliver. Errors: kDenied (nobody will ever take
  /// it), kBusy (nothing can be sent at present, whatever the letter), others (this one cannot be).
  virtual base::Result<void> send(const RenderedMail& mail) = 0;
};

/// What the settings of REPOSITORY ask for; inside a Snapshot or a Receipt. Null: no mail is to be
/// sent. Error: kInvalid (the settings lack something).
base::Result<std::unique_ptr<MailSender>> make_sender(repository::Repository& repository);

/// Prints mails to standard output.
std::unique_ptr<MailSender> make_printer();

}  // namespace quarry::backoffice
