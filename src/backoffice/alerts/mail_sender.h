// Sends mails: one function for each email-send-method.
#pragma once

#include <chrono>
#include <string>

#include "quarry/backoffice/alerts.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// A mail that is ready to send.
struct RenderedMail {
  std::string from;     // address for bounces
  std::string to;       // address
  std::string message;  // header and body (RFC 5322), lines end in CRLF
};

/// Returns the sender that REPOSITORY's settings select, or null if mail is disabled. It is used
/// for a whole run and REPOSITORY must stay open. Call this inside a Snapshot or a Receipt. Errors:
/// kInvalid (a setting is missing).
base::Result<SendMail> mail_sender_for(repository::Repository& repository);

/// Pipes MAIL to COMMAND, such as `sendmail -ti`, which reads the recipients from the header.
/// COMMAND is run by a shell, as in fossil. Exit code 0 means success; 65, 67 and 68 (see
/// sysexits.h) mean a permanent failure, all others a temporary one. After TIMEOUT, the command and
/// its children are killed.
base::Result<void> pipe_mail(const std::string& command, std::chrono::milliseconds timeout,
                             const RenderedMail& mail);

/// Prints MAIL to standard output.
base::Result<void> print_mail(const RenderedMail& mail);

}  // namespace quarry::backoffice
