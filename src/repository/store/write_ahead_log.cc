#include "write_ahead_log.h"

#include <algorithm>
#include <thread>

namespace quarry::repository {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{200};
// Who was waited for in vain reads for long: waiting again soon would hold up everybody for
// nothing.
constexpr milliseconds kPause{5000};
constexpr std::chrono::microseconds kBetweenLooks{500};
constexpr std::size_t kFrameHead = 24;
constexpr std::size_t kLeastBound = std::size_t{64} << 10;
constexpr std::size_t kMostBound = std::size_t{1} << 40;

/// Somebody is in the way: closes the gate behind him the first time, and waits.
class Wait {
 public:
  Wait(LogGate& gate, std::uint64_t file) : gate_(gate), file_(file) {}

  bool goes_on() {
    if (!has_closed_) {
      has_closed_ = gate_.close(file_, kPatience);
      deadline_ = steady_clock::now() + kPatience;
    }
    if (!has_closed_ || steady_clock::now() >= deadline_) return false;
    std::this_thread::sleep_for(kBetweenLooks);
    return true;
  }
  void end(bool in_vain) {
    if (has_closed_) gate_.open(file_, in_vain ? kPause : milliseconds(0));
  }

 private:
  LogGate& gate_;
  std::uint64_t file_;
  bool has_closed_ = false;
  steady_clock::time_point deadline_{};
};

int goes_on(void* wait, int) {
  return static_cast<Wait*>(wait)->goes_on() ? 1 : 0;
}

}  // namespace

WriteAheadLog::WriteAheadLog(Database& database, std::size_t bound)
    : database_(database), bound_(std::clamp(bound, kLeastBound, kMostBound)) {
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
    frame_size_ = kFrameHead + (query.step() ? static_cast<std::size_t>(query.integer(0)) : 0);
  }
  return frames_ * frame_size_;
}

void WriteAheadLog::keep_short(LogGate& gate, std::uint64_t file) {
  if (!has_grown_) return;
  has_grown_ = false;
  if (size() <= bound_) return;
  sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
  // First what can be had without holding up anybody but writers: then there is less to be done
  // behind the gate.
  checkpoint(SQLITE_CHECKPOINT_FULL);
  if (size() <= limit()) return;
  // Readers that are held back are no help where somebody writes; who does, does this after him.
  if (!is_being_written()) empty_behind(gate, file);
}

bool WriteAheadLog::is_being_written() {
  const int code =
      sqlite3_exec(database_.handle(), "BEGIN IMMEDIATE; ROLLBACK", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK && (code & 0xFF) != SQLITE_BUSY) database_.raise(code);
  return code != SQLITE_OK;
}

void WriteAheadLog::empty_behind(LogGate& gate, std::uint64_t file) {
  Wait wait(gate, file);
  sqlite3_busy_handler(database_.handle(), goes_on, &wait);
  bool is_empty = false;
  try {
    is_empty = checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
  } catch (...) {
    sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
    wait.end(/*in_vain=*/true);
    throw;
  }
  sqlite3_busy_handler(database_.handle(), nullptr, nullptr);
  wait.end(!is_empty);
}

bool WriteAheadLog::empty() {
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

bool LonelyGate::close(std::uint64_t, milliseconds) {
  return steady_clock::now() >= not_before_;
}
void LonelyGate::open(std::uint64_t, milliseconds pause) {
  not_before_ = steady_clock::now() + pause;
}
void LonelyGate::pass(std::uint64_t) {}

}  // namespace quarry::repository
