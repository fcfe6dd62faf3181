// Disk-assisted mode, as rsyslog's document "The rsyslog queue object" reasons it out: another engine,
// the helper, has a disk queue, and one worker shuffles messages there.
//
//   in     the high water mark is hit; or there are files at the start; or messages are left at the
//          end. Workers of the queue in memory are retired, and one worker shuffles its messages to
//          a disk queue, whose own workers deliver them.
//   held   at the low water mark the rest stays in memory, until the high water mark is hit again
//   out    the disk queue is empty, and memory is below the high water mark: the disk queue and its
//          files go, and the workers of the queue in memory come back
//
// Together the two queues never have more consumers than queue.workerthreads. With one, so, nothing
// is delivered from the disk before what a retired worker has in its hands.
//
// The worker that shuffles decides on the way out, and checks before *every* wait whether it is
// time: the notice that the disk queue is empty may have come before it waited. It may have ended
// for want of work, too, so that notice also starts it again (helper_is_empty).
//
// Every call is made under the engine's mutex.
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

/// Where the worker that shuffles messages to the disk is.
enum class ShufflerState : std::uint8_t {
  kNone,            // there is no such worker
  kAtWork,          // it may not wait at all
  kAtLowWatermark,  // it waits for the high water mark, or that the disk queue is empty
  kOnEmptyQueue,    // it waits for a message
  kOnFullDisk,      // it waits for room on the disk
};

class DiskAssistance {
 public:
  /// STATE and WORKERS are not owned, and outlive this. WATCH returns what lives as long as they do.
  DiskAssistance(EngineState& state, DeliveryWorkers& workers,
                 std::function<std::weak_ptr<void>()> watch);

  /// On the disk there is something, which is to be delivered first.
  void start_with_files();
  /// Messages came: begins the mode, or goes on with it, where it is time. Whether it is on.
  bool messages_came();
  /// Begins the mode where it has not begun for a failure, and another try is due. When it is if it
  /// is not due yet; never, where there is nothing to try.
  TimePoint try_again();
  /// A worker of the queue in memory has ended: its place is the helper's.
  void worker_ended();

  ShufflerState shuffler_state() const { return shuffler_state_; }
  /// The files were removed.
  const std::optional<base::Error>& disk_is_gone() const { return disk_is_gone_; }
  bool any_starting() const { return worker_.any_starting(); }

  // --- at the end

  /// From now on everything goes to the disk, and nothing is delivered from there.
  void begin_ending();
  /// Everything in memory goes to the disk, within the time that there is.
  void drain(Lock& lock);
  /// Ends the helper, if there is one, with what consumers have left. Adds to ENDING.
  void end_helper(Lock& lock, Ending& ending);
  /// Messages that no file had room for.
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
  Condition changed_;        // for the worker that shuffles: anything that it may wait for
  bool has_files_ = false;   // found at the start, and not opened yet
  bool has_failed_ = false;  // the disk cannot be used: told once
  std::optional<base::Error> disk_is_gone_;
  TimePoint next_try_{};     // after a failure, not before
  bool is_refused_ = false;  // the disk takes nothing, and has nothing
  bool is_held_ = false;     // the low water mark was reached
  std::uint64_t lost_ = 0;
  ShufflerState shuffler_state_ = ShufflerState::kNone;
  WorkerPool worker_;  // of one
};

}  // namespace quarry::spool
