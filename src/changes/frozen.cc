#include "quarry/changes/frozen.h"

#include <chrono>
#include <memory>
#include <thread>

#include "quarry/base/escape.h"
#include "quarry/base/split.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxFrozen = std::size_t{64} << 10;  // bytes
constexpr int kLockTries = 40;
constexpr std::chrono::milliseconds kBetweenLockTries{25};

/// Locks the list. The lock is released when the returned file is destroyed.
Result<std::unique_ptr<base::File>> lock(const Directories& directories) {
  QUARRY_TRY_ASSIGN(auto file, directories.files().open(directories.control("frozen.lock"),
                                                        base::FileUse::kOpenOrMake));
  for (int tries = 0; tries < kLockTries; ++tries) {
    QUARRY_TRY_ASSIGN(const bool is_locked, file->try_lock());
    if (is_locked) return file;
    std::this_thread::sleep_for(kBetweenLockTries);
  }
  return fail(ErrorCode::kBusy, "another process is freezing a branch: try again");
}

Result<void> write(Directories& directories, const Branches& branches) {
  std::string text;
  for (const std::string& branch : branches) text += branch + "\n";
  if (text.size() > kMaxFrozen) return fail(ErrorCode::kLimit, "too many branches are frozen");
  return directories.replace_file(directories.control("frozen"), text, /*is_durable=*/true);
}

}  // namespace

bool is_branch_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && one_line(name, kMaxName) == name;
}

Result<Branches> frozen_branches(const Directories& directories) {
  const auto text = directories.read_file(directories.control("frozen"), kMaxFrozen);
  if (!text && text.error().code == ErrorCode::kNotFound) return Branches();
  if (!text) return std::unexpected(text.error());
  Branches branches;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view branch = base::take_until(rest, '\n');
    if (!branch.empty()) branches.emplace(branch);
  }
  return branches;
}

Result<void> set_frozen(Directories& directories, std::string_view branch, bool is_frozen) {
  if (!is_branch_name(branch)) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not a valid branch name", base::printable(branch));
  }
  QUARRY_TRY_ASSIGN(const auto held, lock(directories));
  QUARRY_TRY_ASSIGN(Branches branches, frozen_branches(directories));
  const bool changes =
      is_frozen ? branches.emplace(branch).second : branches.erase(std::string(branch)) > 0;
  if (!changes) {
    return fail(ErrorCode::kConflict, "the branch {} is {}", branch,
                is_frozen ? "already frozen" : "not frozen");
  }
  return write(directories, branches);
}

}  // namespace quarry::changes
