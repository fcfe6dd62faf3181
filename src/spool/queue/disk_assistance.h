// Disk-assisted mode, as in rsyslog's document "The rsyslog queue object". A second engine, the
// helper, runs a disk queue. One worker of this queue, the shuffler, moves messages to it.
//
//   enter  when memory reaches the high watermark, if there are files at the start, or if messages
//          are left at the end. The workers of the queue in memory are retired, the shuffler moves
//          its messages to the disk queue, and the workers of the disk queue deliver them.
//   hold   at the low watermark, the rest stays in memory until the high watermark is reached again
//   leave  when the disk queue is empty and memory is below the high watermark: the disk queue and
//          its files are removed, and the workers of the queue in memory resume
//
// Together, the two queues never have more consumers than queue.workerthreads. So with one worker,
// no message is delivered from disk before a retired worker has finished its batch.
//
// The shuffler decides when to leave. It checks that before *every* wait, because it may have
// missed the notification that the disk queue is empty. It may also have ended because it was idle;
// in that case the notification starts it again (helper_is_empty).
//
// All functions are called with the engine's mutex locked.
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
  kNone,            // there is no shuffler
  kAtWork,          // working, must not wait
  kAtLowWatermark,  // waiting for the high watermark or for an empty disk queue
  kOnEmptyQueue,    // waiting for a message
  kOnFullDisk,      // waiting for disk space
};

class DiskAssistance {
 public:
  /// STATE and WORKERS are not owned and outlive this object. WATCH returns a token with their
  /// lifetime.
  DiskAssistance(EngineState& state, DeliveryWorkers& workers,
                 std::function<std::weak_ptr<void>()> watch);

  /// Enters the mode because there are messages on disk, which have to be delivered first.
  void start_with_files();
  /// Called when messages were added. Enters or continues the mode if needed. Returns whether the
  /// mode is on.
  bool messages_came();
  /// Retries to enter the mode after a failure, if it is time for that. Returns the time of the
  /// next retry, or the maximum if there is nothing to retry.
  TimePoint try_again();
  /// Called when a worker of the queue in memory has ended: the helper may start one instead.
  void worker_ended();

  ShufflerState shuffler_state() const { return shuffler_state_; }
  /// Set if the files were removed by someone else.
  const std::optional<base::Error>& disk_is_gone() const { return disk_is_gone_; }
  bool any_starting() const { return worker_.any_starting(); }

  // --- used when the queue ends

  /// After this call, all messages are written to disk and none is delivered from there.
  void begin_ending();
  /// Moves all messages in memory to disk, within the time limit.
  void drain(Lock& lock);
  /// Ends the helper, if any, and gives it the messages that consumers have left. Adds to ENDING.
  void end_helper(Lock& lock, Ending& ending);
  /// Returns the number of messages that did not fit on the disk.
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
  bool has_files_ = false;   // found at the start and not opened yet
  bool has_failed_ = false;  // the disk cannot be used; this was reported
  std::optional<base::Error> disk_is_gone_;
  TimePoint next_try_{};     // after a failure: do not try before this
  bool is_refused_ = false;  // the disk accepts no messages although its queue is empty
  bool is_held_ = false;     // the low watermark was reached
  std::uint64_t lost_ = 0;
  ShufflerState shuffler_state_ = ShufflerState::kNone;
  WorkerPool worker_;  // a single worker
};

}  // namespace quarry::spool
