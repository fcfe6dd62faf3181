#include "quarry/repository/compaction.h"

#include <fmt/core.h>

#include "quarry/backoffice/jobs.h"

namespace quarry::backoffice {
namespace {

base::Result<std::size_t> compact(JobContext& context, const CompactionOptions& options) {
  const auto is_over = [&] {
    return context.is_over() || (options.is_interrupted && options.is_interrupted());
  };
  repository::Compaction compaction(context.repository);
  QUARRY_TRY_ASSIGN(const auto slice, compaction.run({.is_over = is_over, .rest = 1}));
  if (slice.damaged == 0) return slice.rewritten;
  return base::fail(base::ErrorCode::kCorrupt,
                    fmt::format("{} damaged artifacts, which are left as they are, among them {}; "
                                "see quarry verify",
                                slice.damaged, slice.damage.front()));
}

}  // namespace

Job compaction(const CompactionOptions& options) {
  return {"compaction", options.budget,
          [options](JobContext& context) { return compact(context, options); }};
}

}  // namespace quarry::backoffice
