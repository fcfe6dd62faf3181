// Mail to the subscribers of a repository: alerts, the daily digest, and notices that a
// subscription will expire. The tables and settings (email-*) are the same as for fossil's
// backoffice, so both programs can work on the same file.
//
// A run has two steps. First, one transaction marks the pending alerts as sent and adds their
// emails to the outbox (quarry/repository/mail_outbox.h). Then the run composes and sends all
// emails in the outbox, including emails that failed in earlier runs. A failed email is retried for
// five days, with delays from one minute to one hour.
//
// If two runs overlap, each email is still sent only once. If a run is killed while it sends an
// email, the email is sent again after five minutes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

struct RenderedMail;
/// Sends an email. Success means that another program has accepted the email. Errors: kDenied
/// (permanent), kBusy (no email can be sent now), any other code (a temporary failure of this
/// email).
using SendMail = std::function<Result<void>(const RenderedMail&)>;

struct AlertOptions {
  const base::Clock* clock = &base::system_clock();
  /// Called before each email. If the function returns true, the remaining emails are left to the
  /// next run. Optional.
  std::function<bool()> is_over = {};
  /// The allowed values of the repository's email-send-method. Empty: all. With `pipe`, `dir` and
  /// `db`, the repository selects the program to run or the files to write.
  std::vector<std::string> methods = {};
  /// Used instead of the sender that the repository's email-send-method selects. Optional.
  SendMail send = {};
  /// Returns whether this host sends the daily mail of DAY now. Only one host of a group sends it. If
  /// the function is empty, the daily mail of a replicated repository is left to another run.
  std::function<Result<bool>(std::int64_t day)> claim_day = {};
  /// Whether to send the emails without marking anything as sent. A run with this option holds the
  /// write lock, so other processes cannot write to the repository until the run ends.
  bool is_rehearsal = false;
};

struct AlertReport {
  std::size_t events = 0;  // alerts newly marked as sent
  std::size_t sent = 0;
  std::size_t failed = 0;    // failed attempts that will be retried
  std::size_t given_up = 0;  // emails that failed permanently
  std::size_t waiting = 0;   // emails left in the outbox
  /// Whether mail is configured.
  bool is_enabled = false;
  /// Problems with emails or the configuration: at most ten lines.
  std::vector<std::string> complaints;
};

// The caller must not hold a Snapshot or Receipt during these calls. Errors from the repository:
// kBusy, kIo, kNoSpace, kCorrupt. Failures to send email are not errors but part of the report.

/// Sends alerts to the subscribers who want them immediately.
Result<AlertReport> send_alerts(repository::Repository& repository, const AlertOptions& options);
Result<AlertReport> send_digests(repository::Repository& repository, const AlertOptions& options);
/// Sends notices that subscriptions will expire. Does nothing if such notices were sent in the last
/// week.
Result<AlertReport> send_renewals(repository::Repository& repository, const AlertOptions& options);
/// Sends the email of a backoffice run: alerts and, in the first run of a day, the digest and the
/// expiry notices. Days begin at noon UTC, as in fossil.
Result<AlertReport> send_due_mail(repository::Repository& repository, const AlertOptions& options);

/// Returns the time until the next email in the outbox is due; 0 if it is overdue. Returns nullopt
/// if the outbox is empty, or if mail is disabled or not configured.
Result<std::optional<std::chrono::seconds>> until_next_mail(repository::Repository& repository,
                                                            const AlertOptions& options);

}  // namespace quarry::backoffice
