// Disk-assisted mode, following rsyslog's document "The rsyslog queue object": another engine, the
// helper, runs a disk queue, and one worker of this queue, the shuffler, moves messages there.
//
//   enter  at the high watermark, if there are files at the start, or if messages are left at the
//          end. The workers of the queue in memory are retired, the shuffler moves its messages to
//          the disk queue, and that queue's workers deliver them.
//   hold   at the low watermark the rest stays in memory until the high watermark is reached again
//   leave  when the disk queue is empty and memory is below the high watermark: the disk queue and
//          its files are removed, and the workers of the queue in memory resume
//
// Together the two queues never have more consumers than queue.workerthreads. So with one worker
// nothing is delivered from disk before a retired worker has finished its batch.
//
// The shuffler decides when to leave, and checks before *every* wait, because the notification that
// the disk queue is empty may have come earlier. It may also have ended when idle, so the
// notification starts it again (helper_is_empty).
//
// All functions are called under the engine's mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "delivery.h"
#include "engine_state.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "threading.h"
#include "worker_pool.h"

namespace quarry::spool {

/// What the shuffler is doing.
enum class ShufflerState : std::uint8_t {
  kNone,            // does not exist
  kAtWork,          // working, must not wait
  kAtLowWatermark,  // waiting for the high watermark or for an empty disk queue
  kOnEmptyQueue,    // waiting for a message
  kOnFullDisk,      // waiting for disk space
};

class DiskAssistance {
 public:
  /// STATE and WORKERS are not owned, and outlive this. WATCH returns a token with their lifetime.
  DiskAssistance(EngineState& state, DeliveryWorkers& workers,
                 std::function<std::weak_ptr<void>()> watch);

  /// There are messages on disk, to be delivered first.
  void start_with_files();
  /// Called when messages were added: enters or continues the mode if needed. Returns whether it is
  /// on.
  bool messages_came();
  /// Retries to enter the mode after a failure, if due. Returns when it will be due, or the maximum
  /// if there is nothing to retry.
  TimePoint try_again();
  /// A worker of the queue in memory has ended: the helper may start one instead.
  void worker_ended();

  ShufflerState shuffler_state() const { return shuffler_state_; }
  /// Set if the files were removed.
  const std::optional<base::Error>& disk_is_gone() const { return disk_is_gone_; }
  bool any_starting() const { return worker_.any_starting(); }

  // --- at the end

  /// From now on all messages go to disk, and nothing is delivered from there.
  void begin_ending();
  /// Moves everything in memory to disk, within the time limit.
  void drain(Lock& lock);
  /// Ends the helper, if any, with the messages that consumers have left. Adds to ENDING.
  void end_helper(Lock& lock, Ending& ending);
  /// Messages that did not fit on the disk.
  std::uint64_t lost() const { return lost_; }
  void join_ended() { worker_.join_ended(); }

 private:
  void start();
  void start_worker();
  void run(Worker& self);
  bool make_helper(Lock& lock);
  void share_workers();
  bool is_over() const;
  bool switch_back(Lock& lock);
  void leave();
  void wait_at_low_watermark(Lock& lock);
  bool wait_on_empty_queue(Lock& lock);
  void shuffle(Lock& lock, Worker& self);
  void helper_is_empty();

  EngineState& state_;
  DeliveryWorkers& workers_;
  std::function<std::weak_ptr<void>()> watch_;
  Condition changed_;        // for the shuffler: any change that it may wait for
  bool has_files_ = false;   // found at the start, not opened yet
  bool has_failed_ = false;  // the disk cannot be used; already reported
  std::optional<base::Error> disk_is_gone_;
  TimePoint next_try_{};     // after a failure: not before
  bool is_refused_ = false;  // the disk accepts nothing and is empty
  bool is_held_ = false;     // the low watermark was reached
  std::uint64_t lost_ = 0;
  ShufflerState shuffler_state_ = ShufflerState::kNone;
  WorkerPool worker_;  // a single worker
};

}  // namespace quarry::spool
