// The mails themselves: MIME messages in UTF-8 (RFC 5322, 2045; GMime writes them), with the
// headers by which fossil's mails are sorted, threaded and unsubscribed from:
//
//   Message-Id, In-Reply-To       of a post: by its artifact's name, so that threads hold together
//   List-Id                       the setting email-listid
//   List-Unsubscribe[-Post]       a page that ends the subscription at one click (RFC 8058)
//   From, Sender                  of a post: an address of its author's own, made from the name
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

/// The settings that all mails of a repository share.
struct MailSettings {
  std::string url;      // email-url: what links begin with
  std::string subject;  // email-subname: what subjects begin with
  std::string from;     // email-self: an address
  std::string list;     // email-listid; may be empty
  std::size_t hash_digits = 10;
};

/// Whether TEXT is an address that a mail can go to: one '@', and nothing that means anything to a
/// header or a mail server besides.
bool is_mail_address(std::string_view text);

/// MAIL about EVENTS, which are those of MAIL that are there still. Nothing: there is nothing left
/// to tell.
std::optional<RenderedMail> compose(const repository::OutgoingMail& mail,
                                    const std::vector<repository::AlertEvent>& events,
                                    const MailSettings& settings, base::UnixMillis now);

}  // namespace quarry::backoffice
