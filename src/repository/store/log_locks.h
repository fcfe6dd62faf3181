// The two rules of the write-ahead log, and how one connection keeps them.
//
// SQLite before 3.51.3 (3.50.7, 3.44.6) loses a committed transaction when one connection resets
// the log while another, that has read the log's header before, copies frames into the file. What
// they do shows in the lock bytes of the log's index, the -shm file:
//
//   120 write   121 checkpoint   122 recover   123 … 127 readers
//
//   (a) frames are copied only by who holds 120 as well: no writer, of whatever program, can reset
//       the log meanwhile. SQLite asks for a reader's byte exclusively before it copies: while 121
//       is held without 120 it is told that this is busy, and copies nothing.
//   (b) the log is reset, which is 124 to 127 asked for together and exclusively, only by who holds
//       121 as well: no checkpoint, of whatever program, can be under way. It is taken without
//       waiting; where it is not free SQLite is told busy, and appends to the log.
//
// Who takes 121 alone begins a checkpoint, and has read nothing yet: 120 is then taken along where
// it is free, so that a passive checkpoint, which does not ask for it, gets on too.
//
// A recovery always holds 120. A last close asks for no byte: it holds the file itself exclusively.
//
// Depends on nothing, since it is also a part of the library that is loaded into `fossil`
// (fossil_log_guard.cc).
#pragma once

namespace quarry::repository {

/// COUNT bytes from FIRST on; 0 is byte 120, as in sqlite3_io_methods::xShmLock.
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

/// What becomes of a request for bytes exclusively.
enum class LockVerdict {
  kAsAsked,
  kHeld,            // was taken along before
  kBusy,            // rule (a)
  kWithWrite,       // begins a checkpoint: 120 too, where it is free
  kWithCheckpoint,  // rule (b): 121 first
};

/// The bytes that one connection holds exclusively. It must see each of its requests.
class LogLocks {
 public:
  constexpr LockVerdict judge(LockBytes asked) const {
    constexpr unsigned readers = LockBytes{kFirstReaderByte.first, 5}.mask();
    const unsigned mask = asked.mask();
    if ((mask & ~lent_) == 0) return LockVerdict::kHeld;
    if (has(kCheckpointByte) && !has(kWriteByte) && (mask & readers) != 0)
      return LockVerdict::kBusy;
    const bool is_reset = (mask & kResetBytes.mask()) == kResetBytes.mask();
    if (is_reset && ((held_ | mask) & kCheckpointByte.mask()) == 0) {
      return LockVerdict::kWithCheckpoint;
    }
    if (mask == kCheckpointByte.mask() && !has(kWriteByte)) return LockVerdict::kWithWrite;
    return LockVerdict::kAsAsked;
  }

  /// Takes ASKED exclusively by BELOW, whose lock(LockBytes) never waits and returns 0 once it has
  /// them; or refuses with BUSY. What it returns is BELOW's answer otherwise.
  template <typename Below>
  constexpr int take(LockBytes asked, int busy, Below&& below) {
    const LockVerdict verdict = judge(asked);
    if (verdict == LockVerdict::kBusy) return busy;
    if (verdict == LockVerdict::kHeld) {
      lent_ &= ~asked.mask();
      return 0;
    }
    if (verdict == LockVerdict::kWithCheckpoint) {
      if (const int code = below.lock(kCheckpointByte); code != 0) return code;
      lend(kCheckpointByte);
    }
    if (const int code = below.lock(asked); code != 0) {
      if (verdict == LockVerdict::kWithCheckpoint) give_back(kCheckpointByte, below);
      return code;
    }
    held_ |= asked.mask();
    if (verdict == LockVerdict::kWithWrite && below.lock(kWriteByte) == 0) lend(kWriteByte);
    return 0;
  }

  /// ASKED were unlocked, or are held by others as well from now on: gives back by BELOW's
  /// unlock(LockBytes) what was taken along with them.
  template <typename Below>
  constexpr void gave(LockBytes asked, Below&& below) {
    const unsigned mask = asked.mask();
    held_ &= ~mask;
    lent_ &= ~mask;
    if ((mask & kResetBytes.mask()) != 0) give_back(kCheckpointByte, below);
    if ((mask & kCheckpointByte.mask()) != 0) give_back(kWriteByte, below);
  }

  constexpr bool has(LockBytes bytes) const { return (held_ & bytes.mask()) == bytes.mask(); }
  /// A bit for each byte, the lowest for byte 120.
  constexpr unsigned held() const { return held_; }

 private:
  constexpr void lend(LockBytes bytes) {
    held_ |= bytes.mask();
    lent_ |= bytes.mask();
  }
  template <typename Below>
  constexpr void give_back(LockBytes bytes, Below&& below) {
    if ((lent_ & bytes.mask()) == 0) return;
    below.unlock(bytes);
    held_ &= ~bytes.mask();
    lent_ &= ~bytes.mask();
  }

  unsigned held_ = 0;
  unsigned lent_ = 0;  // of these, what was taken along and SQLite has not asked for
};

}  // namespace quarry::repository
