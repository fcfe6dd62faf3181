// Decides which subscribers are notified of which alerts. A single Receipt marks the alerts as sent
// and adds their emails to the outbox.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quarry/base/result.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/mail_outbox.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// Claims some of the earliest pending alerts. Returns the number of events; 0 if no alerts were
/// pending. Other hosts are notified of a digest.
Result<std::size_t> claim_alerts(repository::Repository& repository, repository::AlertTiming timing,
                                 repository::MailTime now);

/// Claims notices for subscriptions that expire within a week. Does nothing if notices were claimed
/// in the last week. The rule and the settings are fossil's (email-renew-interval,
/// email-renew-warning, email-renew-cutoff).
Result<void> claim_renewals(repository::Repository& repository, repository::Receipt& receipt,
                            repository::MailTime now);

/// Returns the Julian day of NOW. Days are from noon to noon.
std::int64_t digest_day(base::UnixMillis now);
/// Returns whether the digest of DAY is still unclaimed. Requires a Snapshot or a Receipt.
bool is_digest_due(repository::Repository& repository, std::int64_t day);
Result<void> mark_digest(repository::Receipt& receipt, std::int64_t day);

}  // namespace quarry::backoffice
