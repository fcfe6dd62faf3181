#include <fmt/core.h>

#include <algorithm>

#include "quarry/backoffice/jobs.h"
#include "quarry/base/number.h"
#include "quarry/repository/compaction.h"
#include "quarry/repository/maintenance.h"
#include "quarry/repository/receipt.h"

namespace quarry::backoffice {
namespace {

using std::chrono::steady_clock;

// The row contains DUE OPTIMIZE RID: the times when maintenance and the next optimization are due
// (seconds since 1970), and the position of the verification.
constexpr const char* kProgressRow = "quarry-maintenance";
constexpr std::int64_t kDay = 86'400;
// Seconds between two runs of this job.
constexpr std::int64_t kInterval = 3600;
// Time per run to verify artifacts.
constexpr std::chrono::seconds kVerification{2};
constexpr std::chrono::hours kAccessLogKept{24 * 365};

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

Result<Progress> read_progress(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  return Progress::parse(repository.settings().get(kProgressRow).value_or(""));
}

Result<void> write_progress(repository::Repository& repository, const Progress& progress) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive());
  QUARRY_TRY(receipt.set_config(kProgressRow, progress.text()));
  return receipt.commit();
}

Result<std::size_t> maintain(JobContext& context) {
  repository::Repository& repository = context.repository;
  const std::int64_t now = repository.options().clock->now().value / 1000;
  QUARRY_TRY_ASSIGN(Progress progress, read_progress(repository));
  // Return if maintenance is not due yet. If the time is too far in the future, the clock was set
  // back, so maintenance is due.
  if (progress.due > now && progress.due <= now + kInterval) return std::size_t{0};

  repository::Maintenance maintenance(repository);
  QUARRY_TRY_ASSIGN(const std::size_t gone, maintenance.prune(kAccessLogKept));
  if (progress.optimize_at <= now || progress.optimize_at > now + kDay) {
    QUARRY_TRY(maintenance.optimize());
    progress.optimize_at = now + kDay;
  }
  const auto end = std::min(context.end, steady_clock::now() + kVerification);
  QUARRY_TRY_ASSIGN(const auto slice,
                    maintenance.verify(std::max<std::int64_t>(progress.rid, 1),
                                       [&] { return steady_clock::now() >= end; }));
  progress.rid = slice.next;
  progress.due = now + kInterval;
  QUARRY_TRY(write_progress(repository, progress));
  repository.keep_log_short();
  if (slice.damage.empty()) return slice.artifacts + gone;
  return fail(ErrorCode::kCorrupt, "{} damaged artifacts, the first is {}; run quarry verify",
              slice.damage.size(), slice.damage.front());
}

Result<std::size_t> compact(JobContext& context, const std::function<bool()>& is_interrupted) {
  const auto is_over = [&] { return context.is_over() || is_interrupted(); };
  repository::Compaction compaction(context.repository);
  QUARRY_TRY_ASSIGN(const auto slice, compaction.run({.is_over = is_over, .rest = 1}));
  if (slice.damaged == 0) return slice.rewritten;
  return fail(ErrorCode::kCorrupt,
              "{} damaged artifacts, left as they are; the first is {}; run quarry verify",
              slice.damaged, slice.damage.front());
}

}  // namespace

Job maintenance() {
  return {"maintenance", std::chrono::seconds(30), maintain};
}

Job compaction(const std::function<bool()>& is_interrupted) {
  return {"compaction", std::chrono::seconds(20),
          [is_interrupted](JobContext& context) { return compact(context, is_interrupted); }};
}

}  // namespace quarry::backoffice
