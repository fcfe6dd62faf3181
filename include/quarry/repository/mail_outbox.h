// The queue of mails to be sent: the table `fx_quarry_mail`.
//
// The transaction that marks alerts as sent also adds their mails here, and a mail is removed after
// it was handed over. So a crash loses no mail, and two processes never queue the same alert. A row
// holds only the recipient and the events; the text is composed when the mail is sent, and leaves
// out events that have been removed meanwhile.
//
// A process claims a mail before it sends it. The claim expires if the process neither removes nor
// defers the mail.
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
  std::string address;  // current
  std::string letters;
  std::string capabilities = {};  // current
  std::vector<AlertReference> about;
  std::string token;  // for the Message-Id: unique, and the same for each attempt
  MailTime made{};
  std::int64_t attempts = 0;  // failed ones
};

class MailOutbox {
 public:
  /// REPOSITORY is not owned.
  explicit MailOutbox(Repository& repository) : repository_(repository) {}

  // Use inside a Snapshot or a Receipt. Errors of all: kIo, kCorrupt.

  /// Whether claim() would return a mail.
  base::Result<bool> has_due(MailTime now);
  base::Result<std::size_t> size();

  // Inside a Receipt.

  /// Adds a mail to the subscriber CODE.
  base::Result<void> add(MailKind kind, const std::string& code,
                         const std::vector<AlertReference>& about, MailTime now);
  /// Claims the mail that has been due longest, so that no other process gets it before UNTIL. Also
  /// removes mails to subscribers who have opted out.
  base::Result<std::optional<OutgoingMail>> claim(MailTime now, MailTime until);
  /// Removes MAIL after it was sent or given up.
  base::Result<void> remove(const OutgoingMail& mail);
  /// Schedules a retry of MAIL at DUE.
  base::Result<void> defer(const OutgoingMail& mail, MailTime due);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
