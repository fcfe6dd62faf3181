#include "quarry/changes/change_set_diff.h"

#include <fmt/core.h>

#include "quarry/changes/directories.h"
#include "quarry/changes/merge.h"
#include "quarry/repository/check_ins.h"
#include "stored_files.h"

namespace quarry::changes {
namespace {

/// Returns the check-in with the files as they were before JOB.
Result<CheckInPtr> check_in_before(repository::Repository& repository, StoredFiles& stored,
                                   const Job& job) {
  repository::CheckIns check_ins(repository);
  if (job.landed) {
    QUARRY_TRY_ASSIGN(const CheckInPtr landed, stored.check_in(*job.landed));
    if (!landed->parents.empty()) return stored.check_in(landed->parents.front());
  }
  if (!job.meta.base.empty()) {
    QUARRY_TRY_ASSIGN(const artifact::HashName name, check_ins.named(job.meta.base));
    return stored.check_in(name);
  }
  QUARRY_TRY_ASSIGN(const repository::BranchTip tip, check_ins.tip(job.meta.target));
  return stored.check_in(tip.name);
}

}  // namespace

Result<std::string> diff_of(repository::Repository& repository, const Job& job,
                            std::span<const ChangedFile> files) {
  QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, repository.snapshot());
  StoredFiles stored(repository, /*kept=*/0);
  QUARRY_TRY_ASSIGN(const CheckInPtr old, check_in_before(repository, stored, job));
  std::string text;
  std::size_t left_out = 0;
  for (const ChangedFile& file : files) {
    if (text.size() > kMaxDiff) {
      ++left_out;
      continue;
    }
    MaybeVersion old_version, new_version;
    Content old_content;
    if (const auto found = old->files.find(file.name); found != old->files.end()) {
      QUARRY_TRY_ASSIGN(old_content, stored.content(found->second.hash));
      old_version = FileVersion{*old_content, found->second.permission};
    }
    if (file.content) new_version = FileVersion{*file.content, file.permission};
    if (old_version != new_version) text += diff_file(file.name, old_version, new_version);
  }
  if (text.size() > kMaxDiff) {
    const std::string note =
        left_out == 0 ? "\n(The rest of the diff is not shown.)\n"
                      : fmt::format("\n(The rest of the diff is not shown: {} more {}.)\n",
                                    left_out, left_out == 1 ? "file" : "files");
    text.replace(kMaxDiff - note.size(), text.npos, note);
  }
  return text;
}

}  // namespace quarry::changes
