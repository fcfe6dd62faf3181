#include "quarry/changes/joint_move.h"

#include <utility>

namespace quarry::changes {

Result<void> JointMove::add(JobLock lock, Stage to, base::UnixMillis now, std::string_view why) {
  lock.note_move(to, now, why);
  QUARRY_TRY_ASSIGN(auto file, lock.write());
  all_.push_back({.lock = std::move(lock), .to = to, .file = std::move(file)});
  return {};
}

std::vector<JointMove::Member> JointMove::commit() {
  std::vector<base::File*> files;
  for (const One& one : all_) files.push_back(one.file.get());
  const auto synced = directories_.files().sync_all(files);
  std::vector<Member> moved;
  for (One& one : std::exchange(all_, {})) {
    const Stage from = one.lock.stage();
    Result<void> outcome = synced;
    if (outcome) outcome = one.lock.put_in_place(std::move(one.file));
    if (outcome) outcome = one.lock.go(one.to);
    for (const Stage stage : {from, one.lock.stage()}) {
      directories_.unsynced_[static_cast<std::size_t>(stage)] = true;
    }
    moved.push_back({.lock = std::move(one.lock), .from = from, .outcome = std::move(outcome)});
  }
  return moved;
}

}  // namespace quarry::changes
