// What is to be told to whom is decided here, once and for all: inside a Receipt, alerts are marked
// as sent, and the mails about them noted in the outbox.
#pragma once

#include <cstddef>

#include "quarry/base/result.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/mail_outbox.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

struct Claimed {
  std::size_t events = 0;
  std::size_t mails = 0;
};

/// Some of the alerts that are pending, the earliest ones. No events: none is left.
base::Result<Claimed> claim_alerts(repository::Repository& repository,
                                   repository::AlertTiming timing, repository::MailTime now);

/// Those whose subscriptions end within a week, unless that was done in the last week: by fossil's
/// rule and its settings email-renew-interval, email-renew-warning and email-renew-cutoff. Returns
/// how many there are.
base::Result<std::size_t> claim_renewals(repository::Repository& repository,
                                         repository::Receipt& receipt, repository::MailTime now);

/// Whether the first run of the day has yet to be, and which day this is: Julian, from noon to
/// noon. In a Snapshot or a Receipt.
bool is_digest_due(repository::Repository& repository, base::UnixMillis now);
base::Result<void> mark_digest(repository::Receipt& receipt, base::UnixMillis now);

}  // namespace quarry::backoffice
