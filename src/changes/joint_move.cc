#include "quarry/changes/joint_move.h"

#include <utility>

namespace quarry::changes {

using base::Result;

Result<void> JointMove::add(Hold hold, Stage to, base::UnixMillis now, std::string_view why) {
  hold.note_move(to, now, why);
  QUARRY_TRY_ASSIGN(auto file, hold.write());
  all_.push_back({.hold = std::move(hold), .to = to, .file = std::move(file)});
  return {};
}

std::vector<JointMove::Member> JointMove::commit() {
  std::vector<base::File*> files;
  for (const One& one : all_) files.push_back(one.file.get());
  const auto synced = directories_.files().sync_all(files);
  std::vector<Member> moved;
  for (One& one : std::exchange(all_, {})) {
    const Stage from = one.hold.stage();
    Result<void> outcome = synced;
    if (outcome) outcome = one.hold.put_in_place(std::move(one.file));
    if (outcome) outcome = one.hold.go(one.to, /*is_settled=*/false);
    moved.push_back({.hold = std::move(one.hold), .from = from, .outcome = std::move(outcome)});
  }
  return moved;
}

}  // namespace quarry::changes
