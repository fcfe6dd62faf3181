// Disk-assisted mode, as in rsyslog's document "The rsyslog queue object". A second engine, the
// helper, runs a disk queue. One worker of the queue in memory, the shuffler, moves messages to the
// disk queue.
//
//   enter  when memory reaches the high watermark, if files exist at the start, or if messages are
//          left at shutdown. The workers of the queue in memory are retired. The shuffler moves the
//          messages to the disk queue, whose workers deliver them.
//   hold   at the low watermark, until the high watermark is reached again. Meanwhile, messages
//          stay in memory.
//   leave  when the disk queue is empty and memory is below the high watermark. The disk queue and
//          its files are removed, and the workers of the queue in memory resume.
//
// Together, the two queues never have more consumers than queue.workerthreads. So with one worker,
// delivery from disk starts only after a retired worker has finished its batch.
//
// The shuffler decides when to leave the mode. The shuffler checks the condition before *every*
// wait, because it might have missed the notification that the disk queue is empty. If the shuffler
// has ended because it was idle, the notification starts it again (helper_is_empty).
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

enum class ShufflerState : std::uint8_t {
  kNone,            // not running
  kAtWork,          // working, must not wait
  kAtLowWatermark,  // waiting for the high watermark or for an empty disk queue
  kOnEmptyQueue,    // waiting for a message
  kOnFullDisk,      // waiting for disk space
};

class DiskAssistance {
 public:
  /// Creates the object. STATE and WORKERS are not owned and must outlive this object. WATCH
  /// returns a weak pointer that expires when STATE and WORKERS are destroyed.
  DiskAssistance(EngineState& state, DeliveryWorkers& workers,
                 std::function<std::weak_ptr<void>()> watch);

  /// Enters the mode, because messages on disk have to be delivered first.
  void start_with_files();
  /// Called after messages were added. Enters or continues the mode if necessary. Returns whether
  /// the mode is on.
  bool messages_came();
  /// Tries again to enter the mode after a failure, if a retry is due. Returns the time of the next
  /// retry, or the maximum if a retry is not needed.
  TimePoint try_again();
  /// Called when a worker of the queue in memory has ended. The helper can start a worker in place
  /// of that worker.
  void worker_ended();

  ShufflerState shuffler_state() const { return shuffler_state_; }
  /// Returns an error if someone else has removed the files.
  const std::optional<Error>& disk_is_gone() const { return disk_is_gone_; }
  bool any_starting() const { return worker_.any_starting(); }

  // --- used at shutdown

  /// Begins the shutdown. From now on, all messages are written to disk, and delivery from disk
  /// stops.
  void begin_ending();
  /// Moves all messages in memory to disk, within the time limit.
  void drain(Lock& lock);
  /// Ends the helper, if any. Gives the helper the messages that consumers have not accepted. Adds
  /// the results to ENDING.
  void end_helper(Lock& lock, Ending& ending);
  /// Returns the number of messages that were lost at shutdown because they are too long for the
  /// disk queue.
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
  Condition changed_;        // wakes the shuffler
  bool has_files_ = false;   // found at the start, but not opened yet
  bool has_failed_ = false;  // the disk is unusable; already reported
  std::optional<Error> disk_is_gone_;
  TimePoint next_try_{};     // time of the next attempt after a failure
  bool is_refused_ = false;  // the disk rejects messages although its queue is empty
  bool is_held_ = false;     // the low watermark was reached
  std::uint64_t lost_ = 0;
  ShufflerState shuffler_state_ = ShufflerState::kNone;
  WorkerPool worker_;  // a single worker
};

}  // namespace quarry::spool
