#include <fmt/ranges.h>

#include "quarry/backoffice/alerts.h"
#include "quarry/backoffice/jobs.h"

namespace quarry::backoffice {
namespace {

base::Result<std::size_t> send_mail(Workplace& workplace) {
  const AlertOptions options{.clock = workplace.repository.options().clock,
                             .is_over = [&workplace] { return workplace.is_over(); }};
  QUARRY_TRY_ASSIGN(const AlertReport report, send_due_mail(workplace.repository, options));
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
