// Mail to the subscribers of a repository: alerts, the daily digest, and notices that a
// subscription will expire. Uses the same tables and settings (email-*) as fossil's backoffice, so
// that either program may process the same file, and each alert is sent exactly once.
//
// A run has two steps. One transaction marks the pending alerts as sent and stores in the outbox
// (quarry/repository/mail_outbox.h) which mails are due to whom. Then the mails in the outbox,
// including those that failed in earlier runs, are composed and sent one by one. A failed mail is
// retried with a delay from one minute to one hour, for five days.
//
// Runs may overlap: each mail is sent by one of them. If a run is killed while it sends a mail, the
// mail is sent again after five minutes.
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
/// Sends a mail. On success, another program has taken responsibility for it. Errors: kDenied
/// (permanent), kBusy (nothing can be sent now), others (temporary, for this mail).
using SendMail = std::function<base::Result<void>(const RenderedMail&)>;

struct AlertOptions {
  const base::Clock* clock = &base::system_clock();
  /// Checked before each mail; if true, the rest is left to the next run. May be empty.
  std::function<bool()> is_over = {};
  /// Replaces the sender that the repository's email-send-method selects. May be empty.
  SendMail send = {};
  /// Sends the mails but marks nothing as sent. Holds the write lock meanwhile.
  bool is_rehearsal = false;
};

struct AlertReport {
  std::size_t events = 0;  // newly marked as sent
  std::size_t sent = 0;
  std::size_t failed = 0;    // attempts that will be retried
  std::size_t given_up = 0;  // mails that failed permanently
  std::size_t waiting = 0;   // mails in the outbox at the end
  /// Whether mail is configured.
  bool is_enabled = false;
  /// Problems with mails or the configuration: at most ten lines.
  std::vector<std::string> complaints;
};

// No Snapshot or Receipt may be alive. Errors: kBusy, kIo, kNoSpace, kCorrupt, all of the
// repository. Failures to send mail are not errors but part of the report.

/// Alerts for subscribers who want them immediately.
base::Result<AlertReport> send_alerts(repository::Repository& repository,
                                      const AlertOptions& options);
/// Sends the daily digest now.
base::Result<AlertReport> send_digests(repository::Repository& repository,
                                       const AlertOptions& options);
/// Notices that subscriptions will expire, unless some were sent in the last week.
base::Result<AlertReport> send_renewals(repository::Repository& repository,
                                        const AlertOptions& options);
/// The mail of a backoffice run: alerts and, in the first run of a day (days begin at noon UTC, as
/// in fossil), the digest and the expiry notices.
base::Result<AlertReport> send_due_mail(repository::Repository& repository,
                                        const AlertOptions& options);

}  // namespace quarry::backoffice
