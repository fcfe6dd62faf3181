// The senders of mail: one function for each email-send-method.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "quarry/backoffice/alerts.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// A complete email.
struct RenderedMail {
  std::string from;  // address for bounces
  std::string to;
  std::string message;  // header and body (RFC 5322); lines end in CRLF
};

/// Returns the sender that REPOSITORY's settings select, or null if email is disabled. A run uses
/// the sender for all its emails. REPOSITORY must stay open. Requires a Snapshot or a Receipt. For
/// METHODS, see AlertOptions. Errors: kInvalid (a setting is missing), kDenied (METHODS does not
/// contain the method).
Result<SendMail> mail_sender_for(repository::Repository& repository,
                                 const std::vector<std::string>& methods);

/// Pipes MAIL to COMMAND, such as `sendmail -ti`, which reads the recipients from the header. As in
/// fossil, a shell runs COMMAND. Exit code 0 means success. The codes 65, 67 and 68 (see
/// sysexits.h) mean a permanent failure, and other codes a temporary failure. After TIMEOUT, the
/// command and its children are killed.
Result<void> pipe_mail(const std::string& command, std::chrono::milliseconds timeout,
                       const RenderedMail& mail);

Result<void> print_mail(const RenderedMail& mail);

}  // namespace quarry::backoffice
