#include <utility>

#include "quarry/changes/directories.h"

namespace quarry::changes {

namespace fs = std::filesystem;

fs::path JobLock::temporary() const {
  return directories_->base_ / "tmp" / (job.name.text() + ".job");
}

/// Writes the job to a file in tmp/, without syncing it.
Result<std::unique_ptr<base::File>> JobLock::write() const {
  base::FileSystem& files = directories_->files_;
  // Remove the file that a crash might have left behind. This is safe, because only the holder of
  // this lock writes to the file.
  [[maybe_unused]] const auto removed = files.remove(temporary());
  QUARRY_TRY_ASSIGN(auto file, files.open(temporary(), base::FileUse::kMake));
  QUARRY_TRY(file->append(job.text()));
  return file;
}

/// Locks FILE, which write() returned, and renames it over the job file.
Result<void> JobLock::put_in_place(std::unique_ptr<base::File> file) {
  QUARRY_TRY(file->try_lock());
  QUARRY_TRY(directories_->files_.rename(temporary(), directories_->file_of(stage_, job.name)));
  lock_ = std::move(file);
  is_new_ = false;
  return {};
}

Result<void> JobLock::rewrite() {
  QUARRY_TRY_ASSIGN(auto file, write());
  QUARRY_TRY(file->sync());
  return put_in_place(std::move(file));
}

Result<void> JobLock::sync(Stage from) {
  base::FileSystem& files = directories_->files_;
  QUARRY_TRY(files.sync_directory(directories_->folder(stage_)));
  if (from == stage_) return {};
  return files.sync_directory(directories_->folder(from));
}

Result<void> JobLock::update() {
  QUARRY_TRY(rewrite());
  return sync(stage_);
}

void JobLock::note_move(Stage to, base::UnixMillis now, std::string_view why) {
  if (!is_over(to)) job.rolled_back.reset();
  job.add_history(now, to, why);
}

/// Renames the job file to the folder of TO.
Result<void> JobLock::go(Stage to) {
  QUARRY_TRY(directories_->files_.rename(directories_->file_of(stage_, job.name),
                                         directories_->file_of(to, job.name)));
  stage_ = to;
  return {};
}

Result<void> JobLock::move(Stage to, base::UnixMillis now, std::string_view why) {
  const Stage from = stage_;
  note_move(to, now, why);
  QUARRY_TRY(rewrite());
  QUARRY_TRY(go(to));
  return sync(from);
}

Result<void> JobLock::move_unwritten(Stage to, base::UnixMillis now, std::string_view why) {
  note_move(to, now, why);
  return go(to);
}

}  // namespace quarry::changes
