#include <utility>

#include "quarry/changes/directories.h"

namespace quarry::changes {

namespace fs = std::filesystem;
using base::Result;

/// The file says what the job is, where it lies, and the lock is on what lies there.
Result<void> Hold::rewrite() {
  base::FileSystem& files = directories_->files_;
  const fs::path path = directories_->file_of(stage_, job.name);
  const fs::path temporary = directories_->base_ / "tmp" / (job.name.text() + ".job");
  // What a crash left; nobody else writes there without this lock.
  [[maybe_unused]] const auto removed = files.remove(temporary);
  QUARRY_TRY_ASSIGN(auto file, files.open(temporary, base::FileUse::kMake));
  QUARRY_TRY(file->append(job.text()));
  QUARRY_TRY(file->sync());
  QUARRY_TRY(file->try_lock());
  QUARRY_TRY(files.rename(temporary, path));
  lock_ = std::move(file);
  is_new_ = false;
  return {};
}

Result<void> Hold::sync(Stage from) {
  base::FileSystem& files = directories_->files_;
  QUARRY_TRY(files.sync_directory(directories_->folder(stage_)));
  if (from == stage_) return {};
  return files.sync_directory(directories_->folder(from));
}

Result<void> Hold::update() {
  QUARRY_TRY(rewrite());
  return sync(stage_);
}

Result<void> Hold::move(Stage to, base::UnixMillis now, std::string_view why, Syncing syncing) {
  const Stage from = stage_;
  if (!is_over(to)) job.taken_back.reset();
  job.add_history(now, to, why);
  if (syncing != Syncing::kNever) QUARRY_TRY(rewrite());
  QUARRY_TRY(directories_->files_.rename(directories_->file_of(from, job.name),
                                         directories_->file_of(to, job.name)));
  stage_ = to;
  if (syncing == Syncing::kNever) return {};
  if (syncing == Syncing::kNow) return sync(from);
  directories_->unsynced_[static_cast<std::size_t>(from)] = true;
  directories_->unsynced_[static_cast<std::size_t>(to)] = true;
  return {};
}

}  // namespace quarry::changes
