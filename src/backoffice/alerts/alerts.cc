#include "quarry/backoffice/alerts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "alert_claims.h"
#include "alert_mailer.h"
#include "mail_sender.h"
#include "mail_text.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/base/escape.h"
#include "quarry/repository/replica_tables.h"

namespace quarry::backoffice {

using repository::Alerts;
using repository::AlertTiming;
using repository::MailOutbox;
using repository::MailTime;
using repository::Receipt;
using repository::ReplicaTables;
using repository::Repository;

namespace {

// Number of digits of a hash in links to posts: default, minimum and maximum of fossil's setting.
constexpr std::int64_t kHashDigits = 10;
constexpr std::int64_t kFewestHashDigits = 6;
constexpr std::int64_t kMaxHashDigits = 40;

// Maximum size of a setting's value in a header of an email (RFC 5322, 2.1.1, limits lines).
constexpr std::size_t kMaxSetting = 500;

struct AlertTasks {
  bool alerts = false;
  bool digests = false;
  bool renewals = false;
  bool only_when_due = false;  // digests and renewals at most once a day
};

class AlertRun {
 public:
  AlertRun(Repository& repository, const AlertOptions& options)
      : repository_(repository), options_(options) {}

  Result<AlertReport> run(const AlertTasks& work) {
    QUARRY_TRY(read_setup());
    if (!send_) return std::move(report_);
    if (options_.is_rehearsal) {
      QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
      rehearsal_.emplace(std::move(receipt));
    }
    if (work.alerts) QUARRY_TRY(decide(AlertTiming::kAtOnce));
    QUARRY_TRY(decide_daily(work));
    QUARRY_TRY(AlertMailer(repository_, options_, settings_, send_, report_).run());
    return finish();
  }

  Result<std::optional<MailTime>> until_next() {
    QUARRY_TRY(read_setup());
    if (!send_) return std::nullopt;
    QUARRY_TRY_ASSIGN(const auto reading, repository_.snapshot());
    QUARRY_TRY_ASSIGN(const auto due, MailOutbox(repository_).next_due());
    if (!due) return std::nullopt;
    return std::max(*due - now(), MailTime(0));
  }

 private:
  MailTime now() const { return MailTime(options_.clock->now().value / 1000); }

  Result<void> read_setup() {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    QUARRY_TRY_ASSIGN(const bool are_set_up, Alerts(repository_).are_set_up());
    if (!are_set_up) return {};
    choose_sender();
    report_.is_enabled = send_ != nullptr;
    if (send_ && !read_settings()) send_ = nullptr;
    return {};
  }

  void choose_sender() {
    send_ = options_.is_rehearsal ? print_mail : options_.send;
    if (send_) return;
    auto chosen = mail_sender_for(repository_, options_.methods);
    if (!chosen) return complain(report_, chosen.error().message);
    send_ = std::move(*chosen);
  }

  bool read_settings() {
    const auto read = [&](const char* name, std::string& to) {
      to = repository_.settings().get(name).value_or("");
      const bool is_usable = !to.empty() && to.size() <= kMaxSetting;
      if (to.empty()) complain(report_, fmt::format("the {} setting is not set", name));
      if (to.size() > kMaxSetting) {
        complain(report_, fmt::format("the {} setting is longer than {} bytes", name, kMaxSetting));
      }
      return is_usable;
    };
    if (!read("email-url", settings_.url) || !read("email-subname", settings_.subject) ||
        !read("email-self", settings_.from)) {
      return false;
    }
    settings_.list = repository_.settings().get("email-listid").value_or("").substr(0, kMaxSetting);
    settings_.hash_digits = static_cast<std::size_t>(
        std::clamp(repository_.settings().get_int("hash-digits", kHashDigits), kFewestHashDigits,
                   kMaxHashDigits));
    if (is_mail_address(settings_.from)) return true;
    complain(report_,
             fmt::format("email-self is \"{}\", which is not an address of the form NAME@HOST",
                         base::printable(settings_.from)));
    return false;
  }

  bool is_over() const { return options_.is_over && options_.is_over(); }

  /// Calls ACTION with a Receipt and commits the Receipt.
  Result<void> in_transaction(const auto& action) {
    if (rehearsal_) return action(*rehearsal_);
    QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
    QUARRY_TRY(action(receipt));
    return receipt.commit();
  }

  /// Returns a snapshot, or nullopt if the Receipt of a rehearsal is open.
  Result<std::optional<repository::Snapshot>> snapshot() {
    if (rehearsal_) return std::nullopt;
    return repository_.snapshot();
  }

  Result<bool> has_pending(AlertTiming timing) {
    QUARRY_TRY_ASSIGN(const auto reading, snapshot());
    return Alerts(repository_).has_pending(timing);
  }

  /// Claims alerts in many short transactions, so that other processes can write in between.
  Result<void> decide(AlertTiming timing) {
    while (!is_over()) {
      QUARRY_TRY_ASSIGN(const bool is_any, has_pending(timing));
      if (!is_any) return {};
      std::size_t claimed = 0;
      QUARRY_TRY(in_transaction([&](Receipt&) -> Result<void> {
        QUARRY_TRY_ASSIGN(claimed, claim_alerts(repository_, timing, now()));
        return {};
      }));
      report_.events += claimed;
      if (claimed == 0) return {};
    }
    return {};
  }

  Result<bool> is_due(std::int64_t day) {
    {
      QUARRY_TRY_ASSIGN(const auto reading, snapshot());
      if (!is_digest_due(repository_, day)) return false;
      QUARRY_TRY_ASSIGN(const bool is_replicated, ReplicaTables(repository_).exist());
      if (!options_.claim_day) return !is_replicated;
    }
    return options_.claim_day(day);
  }

  /// Claims digests and renewals. Marks the day as done only at the end, so that the next run
  /// completes the work of a run that was killed.
  Result<void> decide_daily(const AlertTasks& work) {
    const std::int64_t day = digest_day(options_.clock->now());
    if (work.only_when_due) {
      QUARRY_TRY_ASSIGN(const bool is_day, is_due(day));
      if (!is_day) return {};
    }
    if (work.digests) QUARRY_TRY(decide(AlertTiming::kDigest));
    if (!work.renewals || is_over()) return {};
    return in_transaction([&](Receipt& receipt) -> Result<void> {
      QUARRY_TRY(claim_renewals(repository_, receipt, now()));
      // If another run has already marked the day, it is harmless to mark it again.
      if (!work.only_when_due) return {};
      return mark_digest(receipt, day);
    });
  }

  Result<AlertReport> finish() {
    if (rehearsal_) return std::move(report_);
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    QUARRY_TRY_ASSIGN(report_.waiting, MailOutbox(repository_).size());
    return std::move(report_);
  }

  Repository& repository_;
  const AlertOptions& options_;
  AlertReport report_;
  MailSettings settings_;
  SendMail send_;  // null if mail is disabled or not configured
  std::optional<Receipt> rehearsal_;
};

Result<std::size_t> send_mail(JobContext& context, AlertOptions options) {
  options.clock = context.repository.options().clock;
  options.is_over = [&context] { return context.is_over(); };
  QUARRY_TRY_ASSIGN(const AlertReport report, send_due_mail(context.repository, options));
  if (report.complaints.empty()) return report.sent;
  return fail(ErrorCode::kIo, "sent {} emails, {} are waiting: {}", report.sent, report.waiting,
              fmt::join(report.complaints, "; "));
}

}  // namespace

Job mail(const std::vector<std::string>& methods,
         const std::function<Result<bool>(std::int64_t day)>& claim_day) {
  return {"mail", std::chrono::minutes(5), [methods, claim_day](JobContext& context) {
            return send_mail(context, {.methods = methods, .claim_day = claim_day});
          }};
}

Result<AlertReport> send_alerts(Repository& repository, const AlertOptions& options) {
  return AlertRun(repository, options).run({.alerts = true});
}

Result<AlertReport> send_digests(Repository& repository, const AlertOptions& options) {
  return AlertRun(repository, options).run({.digests = true});
}

Result<AlertReport> send_renewals(Repository& repository, const AlertOptions& options) {
  return AlertRun(repository, options).run({.renewals = true});
}

Result<AlertReport> send_due_mail(Repository& repository, const AlertOptions& options) {
  return AlertRun(repository, options)
      .run({.alerts = true, .digests = true, .renewals = true, .only_when_due = true});
}

Result<std::optional<std::chrono::seconds>> until_next_mail(Repository& repository,
                                                            const AlertOptions& options) {
  return AlertRun(repository, options).until_next();
}

}  // namespace quarry::backoffice
