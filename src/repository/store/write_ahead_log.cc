#include "write_ahead_log.h"

#include <algorithm>
#include <thread>

namespace quarry::repository {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kReaderTimeout{200};
// Pause after a timeout. A reader that takes longer than the timeout probably takes much longer.
// Waiting for it again soon would only delay all other connections.
constexpr milliseconds kPause{5000};
constexpr std::chrono::microseconds kPollInterval{500};
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::size_t kMinLimit = std::size_t{64} << 10;
constexpr std::size_t kMaxLimit = std::size_t{1} << 40;

/// Waits for the readers that block a checkpoint. Raises the barrier, so that new readers have to
/// wait.
class ReaderWait {
 public:
  ReaderWait(CheckpointBarrier& barrier, std::uint64_t file) : barrier_(barrier), file_(file) {}

  bool should_retry() {
    if (!has_raised_) {
      has_raised_ = barrier_.raise(file_, kReaderTimeout);
      deadline_ = steady_clock::now() + kReaderTimeout;
    }
    if (!has_raised_ || steady_clock::now() >= deadline_) return false;
    std::this_thread::sleep_for(kPollInterval);
    return true;
  }
  void end(bool has_failed) {
    if (has_raised_) barrier_.lower(file_, has_failed ? kPause : milliseconds(0));
  }

 private:
  CheckpointBarrier& barrier_;
  std::uint64_t file_;
  bool has_raised_ = false;
  steady_clock::time_point deadline_{};
};

int on_busy(void* wait, int) {
  return static_cast<ReaderWait*>(wait)->should_retry() ? 1 : 0;
}

}  // namespace

WriteAheadLog::WriteAheadLog(Database& database, std::size_t limit)
    : database_(database), limit_(std::clamp(limit, kMinLimit, kMaxLimit)) {
  sqlite3_wal_hook(database_.handle(), committed, this);
}

int WriteAheadLog::committed(void* self, sqlite3*, const char*, int frames) {
  auto& log = *static_cast<WriteAheadLog*>(self);
  log.frames_ = static_cast<std::size_t>(frames);
  log.has_grown_ = true;
  return SQLITE_OK;
}

std::size_t WriteAheadLog::size() {
  if (frame_size_ == 0) {
    Query query = database_.query("PRAGMA page_size");
    frame_size_ =
        kFrameHeaderSize + (query.step() ? static_cast<std::size_t>(query.integer(0)) : 0);
  }
  return frames_ * frame_size_;
}

void WriteAheadLog::keep_short(CheckpointBarrier& barrier, std::uint64_t file) {
  if (!has_grown_) return;
  has_grown_ = false;
  if (size() <= limit_) return;
  sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
  // First copy frames without the barrier, so that only writers have to wait. Fewer frames then
  // have to be copied while the barrier is raised.
  checkpoint(SQLITE_CHECKPOINT_FULL);
  if (size() <= hard_limit()) return;
  // Do not raise the barrier while another connection writes, because the log cannot be truncated
  // now. The other connection truncates the log after its commit.
  if (!is_being_written()) truncate_with_barrier(barrier, file);
}

bool WriteAheadLog::is_being_written() {
  const int code =
      sqlite3_exec(database_.handle(), "BEGIN IMMEDIATE; ROLLBACK", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK && (code & 0xFF) != SQLITE_BUSY) database_.raise(code);
  return code != SQLITE_OK;
}

void WriteAheadLog::truncate_with_barrier(CheckpointBarrier& barrier, std::uint64_t file) {
  ReaderWait wait(barrier, file);
  sqlite3_busy_handler(database_.handle(), on_busy, &wait);
  bool is_empty = false;
  try {
    is_empty = checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
  } catch (...) {
    sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
    wait.end(/*has_failed=*/true);
    throw;
  }
  sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
  wait.end(!is_empty);
}

bool WriteAheadLog::truncate() {
  has_grown_ = false;
  sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
  return checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
}

bool WriteAheadLog::checkpoint(int mode) {
  const int code = sqlite3_wal_checkpoint_v2(database_.handle(), "main", mode, nullptr, nullptr);
  if ((code & 0xFF) == SQLITE_BUSY) return false;
  if (code != SQLITE_OK) database_.raise(code);
  return true;
}

bool SingleProcessBarrier::raise(std::uint64_t, milliseconds) {
  return steady_clock::now() >= not_before_;
}
void SingleProcessBarrier::lower(std::uint64_t, milliseconds pause) {
  not_before_ = steady_clock::now() + pause;
}
void SingleProcessBarrier::wait(std::uint64_t) {}

}  // namespace quarry::repository
