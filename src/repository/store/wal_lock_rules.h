// The two locking rules of the write-ahead log (WAL), and a class that makes one connection keep
// them.
//
// SQLite before 3.51.3 (3.50.7, 3.44.6) can lose a committed transaction. This can happen if a
// connection has read the log's header and is copying frames into the file while another connection
// resets the log. Both operations are visible in the lock bytes of the log's index, the -shm file:
//
//   120 write   121 checkpoint   122 recover   123 … 127 readers
//
//   (a) A connection copies frames only while it also holds 120. During this time, no writer of
//       any program can reset the log. SQLite requests a reader's byte exclusively before it copies.
//       If the connection holds 121 without 120, this request returns busy, and SQLite does not
//       copy frames.
//   (b) A connection resets the log (requests 124 to 127 together, exclusively) only while it
//       also holds 121. During this time, no program can run a checkpoint. 121 is taken
//       without waiting. If 121 is not free, the request for 124 to 127 returns busy, and SQLite
//       appends to the log.
//
// A connection that requests only 121 begins a checkpoint and has not read the log yet. If 120 is
// free, the connection also gets 120. Therefore, passive checkpoints, which never request 120, can
// copy frames.
//
// A recovery always holds 120. The last connection that closes does not request any bytes, because
// it locks the file itself.
//
// This header does not have dependencies, because it is also included by the library that is
// preloaded into `fossil` (wal_guard_preload.cc).
#pragma once

namespace quarry::repository {

/// COUNT bytes, beginning with FIRST. 0 stands for byte 120, as in sqlite3_io_methods::xShmLock.
struct LockBytes {
  int first = 0;
  int count = 1;

  constexpr unsigned mask() const { return ((1U << count) - 1U) << first; }
};

inline constexpr int kLockByteCount = 8;
inline constexpr LockBytes kWriteByte{0, 1};
inline constexpr LockBytes kCheckpointByte{1, 1};
inline constexpr LockBytes kFirstReaderByte{3, 1};
inline constexpr LockBytes kResetBytes{4, 4};

/// The decision about a request for an exclusive lock.
enum class LockVerdict {
  kAsAsked,
  kHeld,            // granted: already taken in addition to an earlier request
  kBusy,            // refused because of rule (a)
  kWithWrite,       // a checkpoint begins: also take 120 if it is free
  kWithCheckpoint,  // because of rule (b): take 121 first
};

/// The bytes that one connection holds exclusively. Every request of the connection must be passed
/// to this object.
class WalLocks {
 public:
  constexpr LockVerdict judge(LockBytes asked) const {
    constexpr unsigned readers = LockBytes{kFirstReaderByte.first, 5}.mask();
    const unsigned mask = asked.mask();
    if ((mask & ~extra_) == 0) return LockVerdict::kHeld;
    if (has(kCheckpointByte) && !has(kWriteByte) && (mask & readers) != 0)
      return LockVerdict::kBusy;
    const bool is_reset = (mask & kResetBytes.mask()) == kResetBytes.mask();
    if (is_reset && ((held_ | mask) & kCheckpointByte.mask()) == 0) {
      return LockVerdict::kWithCheckpoint;
    }
    if (mask == kCheckpointByte.mask() && !has(kWriteByte)) return LockVerdict::kWithWrite;
    return LockVerdict::kAsAsked;
  }

  /// Locks ASKED exclusively with BELOW.lock(LockBytes), which must not wait and must return 0 on
  /// success. Returns BUSY if a rule forbids the lock. Otherwise, returns the result of
  /// BELOW.lock().
  template <typename Below>
  constexpr int take(LockBytes asked, int busy, Below&& below) {
    const LockVerdict verdict = judge(asked);
    if (verdict == LockVerdict::kBusy) return busy;
    if (verdict == LockVerdict::kHeld) {
      extra_ &= ~asked.mask();
      return 0;
    }
    if (verdict == LockVerdict::kWithCheckpoint) {
      if (const int code = below.lock(kCheckpointByte); code != 0) return code;
      add_extra(kCheckpointByte);
    }
    if (const int code = below.lock(asked); code != 0) {
      if (verdict == LockVerdict::kWithCheckpoint) release_extra(kCheckpointByte, below);
      return code;
    }
    held_ |= asked.mask();
    if (verdict == LockVerdict::kWithWrite && below.lock(kWriteByte) == 0) add_extra(kWriteByte);
    return 0;
  }

  /// Call after the bytes ASKED have been unlocked or changed to a shared lock. Unlocks the bytes
  /// that were taken in addition to ASKED, with BELOW.unlock(LockBytes).
  template <typename Below>
  constexpr void released(LockBytes asked, Below&& below) {
    const unsigned mask = asked.mask();
    held_ &= ~mask;
    extra_ &= ~mask;
    if ((mask & kResetBytes.mask()) != 0) release_extra(kCheckpointByte, below);
    if ((mask & kCheckpointByte.mask()) != 0) release_extra(kWriteByte, below);
  }

  constexpr bool has(LockBytes bytes) const { return (held_ & bytes.mask()) == bytes.mask(); }
  /// Returns one bit per byte. The lowest bit stands for byte 120.
  constexpr unsigned held() const { return held_; }

 private:
  constexpr void add_extra(LockBytes bytes) {
    held_ |= bytes.mask();
    extra_ |= bytes.mask();
  }
  template <typename Below>
  constexpr void release_extra(LockBytes bytes, Below&& below) {
    if ((extra_ & bytes.mask()) == 0) return;
    below.unlock(bytes);
    held_ &= ~bytes.mask();
    extra_ &= ~bytes.mask();
  }

  unsigned held_ = 0;
  unsigned extra_ = 0;  // bytes in held_ that SQLite has not requested
};

}  // namespace quarry::repository
