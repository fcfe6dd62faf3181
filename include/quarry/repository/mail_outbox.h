// The queue of emails to be sent: the table `fx_quarry_mail`.
//
// The transaction that marks alerts as sent also adds their emails to this table. An email is
// removed after it has been handed over for delivery. Therefore, a crash does not lose emails, and
// two processes never queue the same alert. A row holds only the recipient and the events. The text
// is composed when the email is sent, without events that have been removed in the meantime.
//
// A process claims an email before it sends the email. The claim expires if the process neither
// removes nor defers the email.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/alerts.h"

namespace quarry::repository {

enum class MailKind {
  kAlert,   // several events
  kPost,    // one post
  kDigest,  // a day's events
  kRenewal  // the subscription is about to expire
};

/// Seconds since 1970.
using MailTime = std::chrono::seconds;

struct OutgoingMail {
  std::int64_t id = 0;
  MailKind kind = MailKind::kAlert;
  std::string code;     // the subscriber's code, in hex
  std::string address;  // the subscriber's current address
  std::string letters;
  std::string capabilities = {};  // the user's current capabilities
  std::vector<AlertReference> about;
  std::string token;  // for the Message-Id; every attempt to send this email has the same token
  MailTime made{};
  std::int64_t attempts = 0;  // failed attempts
};

class MailOutbox {
 public:
  /// REPOSITORY is not owned.
  explicit MailOutbox(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  Result<bool> has_due(MailTime now);
  Result<std::size_t> size();
  /// Returns when the first email is due, or nullopt if the outbox is empty.
  Result<std::optional<MailTime>> next_due();

  // Use the functions below inside a Receipt.

  /// Adds an email for the subscriber whose code is CODE.
  Result<void> add(MailKind kind, const std::string& code, const std::vector<AlertReference>& about,
                   MailTime now);
  /// Claims the email that has been due longest. Other processes cannot claim it before UNTIL.
  /// Returns nullopt if no email is due. Also removes emails to subscribers who have opted out.
  Result<std::optional<OutgoingMail>> claim(MailTime now, MailTime until);
  /// Removes MAIL, after it has been sent or has failed permanently.
  Result<void> remove(const OutgoingMail& mail);
  Result<void> defer(const OutgoingMail& mail, MailTime due);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
