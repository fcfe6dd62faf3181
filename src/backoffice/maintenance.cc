#include <fmt/core.h>

#include <algorithm>

#include "quarry/backoffice/jobs.h"
#include "quarry/base/number.h"
#include "quarry/repository/maintenance.h"
#include "quarry/repository/receipt.h"

namespace quarry::backoffice {
namespace {

using std::chrono::steady_clock;

// Its value is DUE OPTIMIZE RID: when maintenance and the next optimization are due (seconds since
// 1970), and the position of the verification.
constexpr const char* kProgressRow = "quarry-maintenance";
constexpr std::int64_t kDay = 86'400;

struct Progress {
  std::int64_t due = 0;
  std::int64_t optimize_at = 0;
  std::int64_t rid = 0;

  static Progress parse(std::string_view text) {
    Progress progress;
    for (std::int64_t* number : {&progress.due, &progress.optimize_at, &progress.rid}) {
      *number = base::take_number<std::int64_t>(text).value_or(0);
    }
    return progress;
  }
  std::string text() const { return fmt::format("{} {} {}", due, optimize_at, rid); }
};

base::Result<Progress> read_progress(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  return Progress::parse(repository.settings().get(kProgressRow).value_or(""));
}

base::Result<void> write_progress(repository::Repository& repository, const Progress& progress) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive());
  QUARRY_TRY(receipt.set_config(kProgressRow, progress.text()));
  return receipt.commit();
}

base::Result<std::size_t> maintain(JobContext& context, const MaintenanceOptions& options) {
  repository::Repository& repository = context.repository;
  const std::int64_t now = repository.options().clock->now().value / 1000;
  const std::int64_t interval = options.interval.count();
  QUARRY_TRY_ASSIGN(Progress progress, read_progress(repository));
  // A time far ahead means that the clock was set back.
  if (progress.due > now && progress.due <= now + interval) return std::size_t{0};

  repository::Maintenance maintenance(repository);
  QUARRY_TRY_ASSIGN(const std::size_t gone, maintenance.prune(options.access_log_kept));
  if (progress.optimize_at <= now || progress.optimize_at > now + kDay) {
    QUARRY_TRY(maintenance.optimize());
    progress.optimize_at = now + kDay;
  }
  const auto end = std::min(context.end, steady_clock::now() + options.verification);
  QUARRY_TRY_ASSIGN(const auto slice,
                    maintenance.verify(std::max<std::int64_t>(progress.rid, 1),
                                       [&] { return steady_clock::now() >= end; }));
  progress.rid = slice.next;
  progress.due = now + interval;
  QUARRY_TRY(write_progress(repository, progress));
  repository.keep_log_short();
  if (slice.damage.empty()) return slice.artifacts + gone;
  return base::fail(base::ErrorCode::kCorrupt,
                    fmt::format("{} damaged artifacts, among them {}; see quarry verify",
                                slice.damage.size(), slice.damage.front()));
}

}  // namespace

Job maintenance(const MaintenanceOptions& options) {
  return {"maintenance", std::chrono::seconds(30),
          [options](JobContext& context) { return maintain(context, options); }};
}

}  // namespace quarry::backoffice
