#include "alert_claims.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mail_choice.h"
#include "quarry/repository/replica_tables.h"

namespace quarry::backoffice {

using repository::AlertReference;
using repository::Alerts;
using repository::AlertTiming;
using repository::MailKind;
using repository::MailOutbox;
using repository::MailTime;
using repository::PendingAlert;
using repository::ReplicaTables;
using repository::Repository;
using repository::Subscriber;

namespace {

// Maximum number of events per email and per transaction.
constexpr std::size_t kMaxEvents = 1000;
// Maximum number of references per transaction. An event has one reference for each notified
// subscriber.
constexpr std::size_t kMaxReferences = 200'000;

// Minimum of email-renew-interval, in days. As in fossil, a lower value disables the notices.
constexpr std::int64_t kMinInterval = 14;
constexpr std::int64_t kWarningTime = 7;  // days from a notice to the end of a subscription

/// Returns whether TIMING sends EVENT in a separate email.
bool has_own_mail(AlertTiming timing, const AlertReference& event) {
  return timing == AlertTiming::kAtOnce && event.type == 'f';
}

/// Adds emails to SUBSCRIBER about the elements of ALERTS for which should_notify() is true.
Result<void> add_mails(MailOutbox& outbox, AlertTiming timing, const Subscriber& subscriber,
                       const std::vector<PendingAlert>& alerts, MailTime now) {
  std::vector<AlertReference> together;
  for (const PendingAlert& alert : alerts) {
    if (!alert.reference || !should_notify(subscriber, alert)) continue;
    const AlertReference& event = *alert.reference;
    if (has_own_mail(timing, event)) {
      QUARRY_TRY(outbox.add(MailKind::kPost, subscriber.code, {event}, now));
    } else {
      together.push_back(event);
    }
  }
  if (together.empty()) return {};
  const MailKind kind = timing == AlertTiming::kDigest ? MailKind::kDigest : MailKind::kAlert;
  return outbox.add(kind, subscriber.code, together, now);
}

/// Tells the other hosts of the group, if there is one, that ALERTS are in a digest. Leaves out those
/// that are not published yet, because the other hosts must get the artifacts first.
Result<void> tell_other_hosts(Repository& repository, std::vector<PendingAlert>& alerts) {
  ReplicaTables tables(repository);
  QUARRY_TRY_ASSIGN(const bool is_replicated, tables.exist());
  if (!is_replicated) return {};
  std::vector<PendingAlert> published;
  std::vector<repository::Rid> artifacts;
  for (PendingAlert& alert : alerts) {
    if (alert.reference) {
      QUARRY_TRY_ASSIGN(const bool is_published, tables.is_published(alert.reference->rid));
      if (!is_published) continue;
      artifacts.push_back(alert.reference->rid);
    }
    published.push_back(std::move(alert));
  }
  alerts = std::move(published);
  return artifacts.empty() ? Result<void>() : tables.queue_digested(artifacts);
}

}  // namespace

Result<std::size_t> claim_alerts(Repository& repository, AlertTiming timing, MailTime now) {
  Alerts alerts(repository);
  MailOutbox outbox(repository);
  QUARRY_TRY(alerts.upgrade_tables());
  QUARRY_TRY_ASSIGN(const std::size_t subscribers, alerts.count_subscribers(timing));
  const std::size_t limit = std::clamp(kMaxReferences / std::max<std::size_t>(subscribers, 1),
                                       std::size_t{1}, kMaxEvents);
  QUARRY_TRY_ASSIGN(auto pending, alerts.pending(timing, limit));
  if (timing == AlertTiming::kDigest) QUARRY_TRY(tell_other_hosts(repository, pending));
  if (pending.empty()) return std::size_t{0};
  QUARRY_TRY(alerts.visit_subscribers(timing, [&](const Subscriber& subscriber) {
    return add_mails(outbox, timing, subscriber, pending, now);
  }));
  QUARRY_TRY(alerts.mark_sent(timing, pending));
  return pending.size();
}

Result<void> claim_renewals(Repository& repository, repository::Receipt& receipt, MailTime now) {
  repository::Settings settings = repository.settings();
  const std::int64_t interval = settings.get_int("email-renew-interval", 0);
  if (interval < kMinInterval) return {};
  const std::int64_t warned = settings.get_int("email-renew-warning", 0);
  const std::int64_t warning = now.count() / 86400 - interval + kWarningTime;
  if (warning < warned + kWarningTime) return {};
  MailOutbox outbox(repository);
  QUARRY_TRY(Alerts(repository).visit_expiring(warned, warning, [&](const Subscriber& subscriber) {
    return outbox.add(MailKind::kRenewal, subscriber.code, {}, now);
  }));
  // Subscribers who have ignored the previous notice must not get any more mail, so move the cutoff
  // to the time of that notice.
  if (warned > 0) QUARRY_TRY(receipt.set_config("email-renew-cutoff", std::to_string(warned)));
  return receipt.set_config("email-renew-warning", std::to_string(warning));
}

std::int64_t digest_day(base::UnixMillis now) {
  return static_cast<std::int64_t>(std::floor(base::julian_day(now)));
}

bool is_digest_due(Repository& repository, std::int64_t day) {
  return day > repository.settings().get_int("email-last-digest", 0);
}

Result<void> mark_digest(repository::Receipt& receipt, std::int64_t day) {
  return receipt.set_config("email-last-digest", std::to_string(day));
}

}  // namespace quarry::backoffice
