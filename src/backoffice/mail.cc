#include <fmt/ranges.h>

#include "quarry/backoffice/alerts.h"
#include "quarry/backoffice/jobs.h"

namespace quarry::backoffice {
namespace {

base::Result<std::size_t> send_mail(JobContext& context) {
  const AlertOptions options{.clock = context.repository.options().clock,
                             .is_over = [&context] { return context.is_over(); }};
  QUARRY_TRY_ASSIGN(const AlertReport report, send_due_mail(context.repository, options));
  if (report.complaints.empty()) return report.sent;
  return base::fail(base::ErrorCode::kIo,
                    fmt::format("{} mails sent, {} wait: {}", report.sent, report.waiting,
                                fmt::join(report.complaints, "; ")));
}

}  // namespace

Job mail() {
  return {"mail", std::chrono::minutes(5), send_mail};
}

}  // namespace quarry::backoffice
