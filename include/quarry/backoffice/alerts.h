// Mail to the subscribers of a repository: alerts, the daily digest, and notices that a
// subscription will expire. It uses the same tables and settings (email-*) as fossil's backoffice,
// so that either program may process the same file and each alert is sent exactly once.
//
// A run has two steps. First, one transaction marks the pending alerts as sent and records in the
// outbox (quarry/repository/mail_outbox.h) which mails have to be sent to whom. Then the mails in
// the outbox, including those that failed in earlier runs, are composed and sent one by one. A
// failed mail is retried for five days, with delays from one minute to one hour.
//
// Runs may overlap; each mail is sent by only one of them. If a run is killed while it sends a
// mail, the mail is sent again after five minutes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

struct RenderedMail;
/// Sends a mail. Success means that another program has accepted responsibility for it. Errors:
/// kDenied (permanent), kBusy (no mail can be sent now), others (temporary, for this mail).
using SendMail = std::function<base::Result<void>(const RenderedMail&)>;

struct AlertOptions {
  const base::Clock* clock = &base::system_clock();
  /// Called before each mail. If it returns true, the remaining mails are left to the next run. May
  /// be empty.
  std::function<bool()> is_over = {};
  /// Used instead of the sender that the repository's email-send-method selects. May be empty.
  SendMail send = {};
  /// Whether to send the mails without marking anything as sent. The write lock is held meanwhile.
  bool is_rehearsal = false;
};

struct AlertReport {
  std::size_t events = 0;  // alerts newly marked as sent
  std::size_t sent = 0;
  std::size_t failed = 0;    // failed attempts that will be retried
  std::size_t given_up = 0;  // mails that failed permanently
  std::size_t waiting = 0;   // mails left in the outbox
  /// Whether mail is configured.
  bool is_enabled = false;
  /// Problems with mails or the configuration: at most ten lines.
  std::vector<std::string> complaints;
};

// A Snapshot or Receipt must not exist during these calls. Errors: kBusy, kIo, kNoSpace, kCorrupt,
// all of the repository. Failures to send mail are not errors but part of the report.

/// Sends alerts to the subscribers who want them immediately.
base::Result<AlertReport> send_alerts(repository::Repository& repository,
                                      const AlertOptions& options);
/// Sends the daily digest now.
base::Result<AlertReport> send_digests(repository::Repository& repository,
                                       const AlertOptions& options);
/// Sends notices that subscriptions will expire, unless some were sent in the last week.
base::Result<AlertReport> send_renewals(repository::Repository& repository,
                                        const AlertOptions& options);
/// Sends the mail of a backoffice run: alerts and, in the first run of a day, the digest and the
/// expiry notices. Days begin at noon UTC, as in fossil.
base::Result<AlertReport> send_due_mail(repository::Repository& repository,
                                        const AlertOptions& options);

}  // namespace quarry::backoffice
