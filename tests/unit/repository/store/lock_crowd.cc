#include "lock_crowd.h"

namespace quarry::repository::test {
namespace {

using Script = std::vector<LockStep>;
using enum LockStep::Kind;

constexpr unsigned kWrite = kWriteByte.mask();
constexpr unsigned kCopying = kFirstReaderByte.mask();

Script read(int mark) {
  const LockBytes byte{3 + mark, 1};
  return {{kShared, byte, 0, true}, {kUnlock, byte}};
}
Script set_mark(int mark) {
  const LockBytes byte{3 + mark, 1};
  return {{kExclusive, byte, 0, true}, {kUnlock, byte}};
}
Script write(bool resets) {
  Script script{{kShared, kFirstReaderByte, 0, true}, {kExclusive, kWriteByte, 0, true}};
  if (resets) {
    script.push_back({kExclusive, kResetBytes});
    script.push_back({kUnlock, kResetBytes});
  }
  script.push_back({kUnlock, kWriteByte});
  script.push_back({kUnlock, kFirstReaderByte});
  return script;
}
/// Returns the steps of a checkpoint. ASKS_FOR_WRITE is false only for passive checkpoints.
Script checkpoint(bool asks_for_write, bool truncates, std::minstd_rand& random) {
  Script script{{kExclusive, kCheckpointByte, 0, true}};
  if (asks_for_write) script.push_back({kExclusive, kWriteByte});
  for (int mark = 1; mark < 5; ++mark) {
    if (random() % 2 == 0) continue;
    script.push_back({kExclusive, {3 + mark, 1}});
    script.push_back({kUnlock, {3 + mark, 1}});
  }
  script.push_back({kExclusive, kFirstReaderByte});
  script.push_back({kUnlock, kFirstReaderByte, kCopying});
  if (truncates) {
    script.push_back({kExclusive, kResetBytes, kWrite});
    script.push_back({kUnlock, kResetBytes});
  }
  script.push_back({kUnlock, kWriteByte});
  script.push_back({kUnlock, kCheckpointByte});
  return script;
}
/// Returns the steps of a recovery. If IN_CHECKPOINT is true, the recovery is part of a checkpoint,
/// and the connection already holds byte 121.
Script recover(bool in_checkpoint) {
  Script script;
  if (in_checkpoint) script.push_back({kExclusive, kCheckpointByte, 0, true});
  const LockBytes rest = in_checkpoint ? LockBytes{2, 1} : LockBytes{1, 2};
  script.push_back({kExclusive, kWriteByte, 0, true});
  script.push_back({kExclusive, rest, 0, true});
  for (int mark = 1; mark < 5; ++mark) {
    script.push_back({kExclusive, {3 + mark, 1}});
    script.push_back({kUnlock, {3 + mark, 1}});
  }
  script.push_back({kUnlock, rest});
  script.push_back({kUnlock, kWriteByte});
  if (in_checkpoint) {
    script.push_back({kExclusive, kFirstReaderByte});
    script.push_back({kUnlock, kFirstReaderByte});
    script.push_back({kUnlock, kCheckpointByte});
  }
  return script;
}

}  // namespace

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

ScriptedConnection::ScriptedConnection(sqlite3_vfs& vfs, std::uint64_t seed)
    : random_(static_cast<std::minstd_rand::result_type>(seed)),
      memory_(static_cast<std::size_t>(vfs.szOsFile) / sizeof(std::max_align_t) + 1) {
  vfs.xOpen(&vfs, "x", file(), SQLITE_OPEN_MAIN_DB, nullptr);
}

void ScriptedConnection::step() {
  if (next_ == script_.size()) begin();
  const LockStep step = script_[next_++];
  const unsigned mask = step.bytes.mask();
  if (step.kind == kUnlock) {
    if ((held_ & mask) == mask) unlock(step.bytes);
    return;
  }
  const bool is_left_out = has_given_up_ || (held_ & step.needs) != step.needs;
  if (is_left_out || (held_ & mask) != 0) return;
  const bool is_exclusive = step.kind == kExclusive;
  const int how = is_exclusive ? SQLITE_SHM_EXCLUSIVE : SQLITE_SHM_SHARED;
  const auto [first, count] = step.bytes;
  if (file()->pMethods->xShmLock(file(), first, count, SQLITE_SHM_LOCK | how) == SQLITE_OK) {
    held_ |= mask;
    if (is_exclusive) exclusive_ |= mask;
  } else if (step.gives_up) {
    has_given_up_ = true;
  }
}
void ScriptedConnection::unlock(LockBytes bytes) {
  const bool is_exclusive = (exclusive_ & bytes.mask()) != 0;
  const int how = is_exclusive ? SQLITE_SHM_EXCLUSIVE : SQLITE_SHM_SHARED;
  file()->pMethods->xShmLock(file(), bytes.first, bytes.count, SQLITE_SHM_UNLOCK | how);
  held_ &= ~bytes.mask();
  exclusive_ &= ~bytes.mask();
}

void ScriptedConnection::begin() {
  next_ = 0;
  has_given_up_ = false;
  switch (random_() % 8) {
    case 0:
      script_ = read(static_cast<int>(random_() % 5));
      break;
    case 1:
      script_ = set_mark(static_cast<int>(1 + random_() % 4));
      break;
    case 2:
    case 3:
    case 4:
      script_ = write(random_() % 2 == 0);
      break;
    case 5:
      script_ = checkpoint(false, false, random_);
      break;
    case 6:
      script_ = checkpoint(true, random_() % 2 == 0, random_);
      break;
    default:
      script_ = recover(random_() % 2 == 0);
      break;
  }
}

}  // namespace quarry::repository::test
