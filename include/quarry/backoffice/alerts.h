// Mail to the subscribers of a repository: alerts, the daily digest, and notices that a
// subscription will expire. The tables and settings (email-*) are the same as for fossil's
// backoffice, so both programs can work on the same file. Each alert is sent exactly once.
//
// A run has two steps. First, one transaction marks the pending alerts as sent and adds their mails
// to the outbox (quarry/repository/mail_outbox.h). Then the run composes and sends all mails in the
// outbox, including mails that failed in earlier runs. A failed mail is retried for five days, with
// delays from one minute to one hour.
//
// If two runs overlap, each mail is still sent only once. If a run is killed while it sends a mail,
// the mail is sent again after five minutes.
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
/// Sends a mail. Success means that another program has accepted the mail. Errors: kDenied
/// (permanent), kBusy (no mail can be sent now), any other code (a temporary failure of this mail).
using SendMail = std::function<base::Result<void>(const RenderedMail&)>;

struct AlertOptions {
  const base::Clock* clock = &base::system_clock();
  /// Called before each mail. If the function returns true, the remaining mails are left to the
  /// next run. Can be empty.
  std::function<bool()> is_over = {};
  /// The allowed values of the repository's email-send-method. Empty: all. The methods `pipe`, `dir`
  /// and `db` use a program or files that the repository selects.
  std::vector<std::string> methods = {};
  /// Used instead of the sender that the repository's email-send-method selects. Can be empty.
  SendMail send = {};
  /// Whether to send the mails without marking anything as sent. Such a run holds the write lock.
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

// The caller must not hold a Snapshot or Receipt during these calls. Errors of the repository:
// kBusy, kIo, kNoSpace, kCorrupt. Failures to send mail are not errors but part of the report.

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
