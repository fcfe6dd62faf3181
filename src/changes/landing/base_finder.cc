#include "quarry/changes/base_finder.h"

#include "quarry/repository/check_ins.h"

namespace quarry::changes {

Result<void> BaseFinder::open() {
  if (repository_) return {};
  QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(path_));
  QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, repository_->snapshot());
  return repository_->check_schema();
}

Result<std::string> BaseFinder::find(const Meta& meta, std::optional<std::int64_t> receipt) {
  if (meta.type == MoveType::kRollback) return std::string();
  if (const auto opened = open(); !opened) {
    return fail(ErrorCode::kIo, opened.error().message);
  }
  QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, repository_->snapshot());
  repository::CheckIns check_ins(*repository_);
  const std::int64_t last = receipt.value_or(repository::kLatestReceipt);
  const auto found =
      meta.base.empty() ? check_ins.tip_at(meta.target, last) : check_ins.named(meta.base, last);
  if (found) {
    for (const MergedCheckIn& each : meta.merges) {
      if (each.kind != MergeKind::kMerge) continue;
      // Skip a missing check-in here, because landing refuses the change set later.
      const auto merged = check_ins.named(each.check_in.str(), last);
      if (!merged) continue;
      QUARRY_TRY_ASSIGN(const bool is_part, check_ins.is_ancestor(*merged, *found));
      if (!is_part) continue;
      return fail(ErrorCode::kInvalid,
                  "##merges: {} is the base of the change set or one of its "
                  "ancestors: nothing to merge",
                  each.check_in.str());
    }
    return std::string(found->str());
  }
  const Error& error = found.error();
  const bool is_theirs = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalid ||
                         error.code == ErrorCode::kConflict;
  return fail(is_theirs ? ErrorCode::kInvalid : ErrorCode::kIo,
              (meta.base.empty() ? "" : "its base: ") + error.message);
}

}  // namespace quarry::changes
