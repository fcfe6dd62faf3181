// Mails that are decided on but not yet sent: the table `fx_quarry_mail`.
//
// The transaction that marks alerts as sent puts the mails about them in here, and each goes when
// it was handed over: whoever stops in between, nobody is left out, and of two who look at the
// alerts at once one finds nothing. What is kept of a mail is whom and what it is about; its text
// is made when it is sent, and nothing is told by then that has been removed.
//
// Whoever sends a mail claims it first, for a time, in which nobody else does. A claim that is not
// settled ends by itself.
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
  kAlert,   // events together
  kPost,    // one post
  kDigest,  // a day's events together
  kRenewal  // the subscription will end
};

/// Seconds since 1970.
using MailTime = std::chrono::seconds;

struct OutgoingMail {
  std::int64_t id = 0;
  MailKind kind = MailKind::kAlert;
  std::string code;     // the subscriber's, in hexadecimal
  std::string address;  // as it is now
  std::string letters;
  std::string capabilities = {};  // as they are now
  std::vector<AlertReference> about;
  std::string token;  // unique, and the same at each attempt: for a Message-Id
  MailTime made{};
  std::int64_t attempts = 0;  // that failed
};

class MailOutbox {
 public:
  /// REPOSITORY is not owned.
  explicit MailOutbox(Repository& repository) : repository_(repository) {}

  // Inside a Snapshot or a Receipt; errors of all: kIo, kCorrupt.

  /// Whether claim() would have something.
  base::Result<bool> has_due(MailTime now);
  /// How many there are.
  base::Result<std::size_t> size();

  // Inside a Receipt.

  /// A mail to the subscriber CODE.
  base::Result<void> add(MailKind kind, const std::string& code,
                         const std::vector<AlertReference>& about, MailTime now);
  /// The mail that has waited longest; nobody else gets it before UNTIL. Those to subscribers who
  /// want no mail any more are removed on the way.
  base::Result<std::optional<OutgoingMail>> claim(MailTime now, MailTime until);
  /// MAIL was sent, or is given up.
  base::Result<void> remove(const OutgoingMail& mail);
  /// MAIL could not be sent, and is tried again at DUE.
  base::Result<void> put_off(const OutgoingMail& mail, MailTime due);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
