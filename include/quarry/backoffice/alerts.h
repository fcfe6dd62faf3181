// Mail to the subscribers of a repository: alerts, the daily digest, and notices that a
// subscription will end. Fossil's backoffice does the same with the same tables and settings
// (email-*), so that either may do it, on the same file, and nobody is told twice or not at all.
//
// A run decides first: in one transaction the pending alerts are marked as sent, and who is to get
// a mail about which of them is noted in the outbox (quarry/repository/mail_outbox.h). Then the
// mails of the outbox are made and sent, one by one, those of earlier runs that failed as well.
// Where a mail cannot be sent it is tried again after a minute, later an hour, for five days.
//
// Runs may overlap: each mail is sent by one of them. A run that is killed while it hands over a
// mail leaves this one to be sent again, after five minutes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

class MailSender;

struct AlertOptions {
  const base::Clock* clock = &base::system_clock();
  /// Asked before each mail: the rest is for the next run. May be empty.
  std::function<bool()> is_over = {};
  /// Sends instead of what the repository's email-send-method says. Not owned; may be null.
  MailSender* sender = nullptr;
  /// Sends what would be sent, but nothing counts as sent. Holds the write lock meanwhile.
  bool is_rehearsal = false;
};

struct AlertReport {
  std::size_t events = 0;    // newly marked as sent
  std::size_t composed = 0;  // mails put into the outbox
  std::size_t sent = 0;
  std::size_t failed = 0;    // attempts; they are made again later
  std::size_t given_up = 0;  // mails that nobody takes
  std::size_t waiting = 0;   // mails in the outbox at the end
  /// Whether mail is set up at all.
  bool is_enabled = false;
  /// What went wrong, or keeps mail from being sent: at most ten lines.
  std::vector<std::string> complaints;
};

// No Snapshot and no Receipt may be alive. Errors: kBusy, kIo, kNoSpace, kCorrupt, all of the
// repository; that mail cannot be sent is no error, but in the report.

/// Alerts about what is new, to those who want to know at once.
base::Result<AlertReport> send_alerts(repository::Repository& repository,
                                      const AlertOptions& options);
/// The digest, now.
base::Result<AlertReport> send_digests(repository::Repository& repository,
                                       const AlertOptions& options);
/// Notices of subscriptions that will end, unless some went out in the last week.
base::Result<AlertReport> send_renewals(repository::Repository& repository,
                                        const AlertOptions& options);
/// What a backoffice run does: alerts, and, in the first one of a day (they begin at noon, UTC, as
/// fossil counts them), the digest and the notices.
base::Result<AlertReport> send_due_mail(repository::Repository& repository,
                                        const AlertOptions& options);

}  // namespace quarry::backoffice
