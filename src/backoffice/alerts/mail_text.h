// Composes emails as MIME messages in UTF-8 (RFC 5322, 2045) with GMime. Emails have fossil's
// headers for sorting, threading and unsubscribing:
//
//   Message-Id, In-Reply-To       for posts: from the artifact hash, so that threads stay together
//   List-Id                       the email-listid setting
//   List-Unsubscribe[-Post]       a page that ends the subscription with one click (RFC 8058)
//   From, Sender                  for posts: an address made from the author's name
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mail_sender.h"
#include "quarry/base/time.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/mail_outbox.h"

namespace quarry::backoffice {

/// Settings for all emails of a repository.
struct MailSettings {
  std::string url;      // email-url: base of links
  std::string subject;  // email-subname: prefix of subjects
  std::string from;     // email-self: an address
  std::string list;     // email-listid; can be empty
  std::size_t hash_digits = 10;
};

/// Returns whether TEXT is a plain email address: one '@', and only characters without a special
/// meaning in headers or for mail servers.
bool is_mail_address(std::string_view text);

/// Returns the complete email for MAIL. EVENTS are those of MAIL's events that still exist. Returns
/// nullopt if EVENTS is empty.
std::optional<RenderedMail> compose(const repository::OutgoingMail& mail,
                                    const std::vector<repository::AlertEvent>& events,
                                    const MailSettings& settings, base::UnixMillis now);

}  // namespace quarry::backoffice
