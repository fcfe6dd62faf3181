// quarry alerts: sends pending email to a repository's subscribers, and lists pending
// notifications.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/owner.h"
#include "common/report.h"
#include "quarry/backoffice/alerts.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/mail_outbox.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

using backoffice::AlertReport;
using repository::Repository;
using Step = Result<AlertReport> (*)(Repository&, const backoffice::AlertOptions&);

// Number of rows per query.
constexpr std::size_t kRows = 1000;

int run_step(Repository& repository, Step step, bool is_rehearsal) {
  const auto report =
      step(repository, {.methods = allowed_mail_methods({}), .is_rehearsal = is_rehearsal});
  repository.keep_log_short();
  if (!report) return failed(report.error());
  for (const std::string& complaint : report->complaints) {
    app::report(complaint);
  }
  if (!report->is_enabled && report->complaints.empty()) {
    fmt::print(
        stderr,
        "quarry: mail is disabled: the subscriber table is missing, or email-send-method is off\n");
  }
  if (!is_rehearsal && report->is_enabled) {
    fmt::print("events: {}  emails sent: {}  failed: {}  given up: {}  waiting: {}\n",
               report->events, report->sent, report->failed, report->given_up, report->waiting);
  }
  return report->complaints.empty() ? kDone : kFailed;
}

}  // namespace

int run_alerts_send(const AlertsArguments& arguments) {
  if (const auto owned = act_as_owner_of(arguments.file); !owned) return failed(owned.error());
  auto repository = Repository::open(arguments.file);
  if (!repository) return failed(repository.error());
  const Step step = arguments.digest ? backoffice::send_digests : backoffice::send_alerts;
  const int code = run_step(**repository, step, arguments.is_test);
  if (!arguments.renewal || code != kDone) return code;
  return run_step(**repository, backoffice::send_renewals, arguments.is_test);
}

Result<void> run_alerts_pending(const AlertsArguments& arguments) {
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository,
                    Repository::open(arguments.file, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(const auto snapshot, repository->snapshot());
  repository::Alerts alerts(*repository);
  QUARRY_TRY_ASSIGN(const bool are_set_up, alerts.are_set_up());
  if (!are_set_up) return {};
  std::string last;
  while (true) {
    QUARRY_TRY_ASSIGN(const auto rows, alerts.marks(kRows, last));
    for (const repository::AlertMarks& row : rows) {
      fmt::print("{:>10} {:>7} {:>10} {:>7}\n", row.id, row.sent_at_once ? "sentSep" : "",
                 row.sent_digest ? "sentDigest" : "", row.sent_to_moderators ? "sentMod" : "");
    }
    if (rows.size() < kRows) break;
    last = rows.back().id;
  }
  QUARRY_TRY_ASSIGN(const std::size_t mails, repository::MailOutbox(*repository).size());
  if (mails > 0) fmt::print("emails waiting: {}\n", mails);
  return {};
}

}  // namespace quarry::app
