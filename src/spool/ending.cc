// The end of a queue: as few messages as possible are lost.
//
// A queue without the disk goes on delivering for queue.timeoutshutdown. A disk-assisted one does
// not begin anything any more: its marks become 1 and 0, its disk queue takes and delivers nothing,
// and what is in memory goes to the disk, for as long (with queue.saveonshutdown: for ever).
// Consumers that are at work have queue.timeoutactioncompletion to complete, then are asked to
// stop, and have that long again. Who ignores both is left behind, and what he has counts as not
// delivered.
#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

// How often a disk queue that cannot be made is tried at the end, and after how long.
constexpr int kMostTries = 3;
constexpr milliseconds kNextTry{100};

}  // namespace
Ending Engine::shut_down() {
  Lock lock(mutex_);
  if (is_closing_) {
    quiet_.wait(lock, [this] { return is_ended_; });
    return ending_;
  }
  is_closing_ = true;
  if (is_da_enabled()) {
    high_watermark_ = 1;
    low_watermark_ = 0;
    is_held_ = false;
    if (helper_) helper_->enqueue_only();
  }
  room_.notify_all();
  pause_.notify_all();
  da_.notify_all();
  // A worker that has not begun to run would not see that it is to end.
  quiet_.wait(lock, [this] { return !workers_.any_starting() && !da_worker_.any_starting(); });
  is_da_enabled() ? end_disk_assisted(lock) : end_plainly(lock);
  workers_.join_ended();
  da_worker_.join_ended();
  setup_.figures->lost += ending_.lost;
  is_ended_ = true;
  quiet_.notify_all();
  return ending_;
}

/// What a consumer that was left behind has comes again.
void Engine::take_back(Worker& left) {
  in_flight_ -= left.batch.messages.size() - left.delivered;
  --setup_.figures->workers;
  ++ending_.consumers_left;
  // A copy: the consumer still looks at it.
  put_back(left.batch, left.delivered);
}

/// Ends the workers, with what their consumers have just now.
void Engine::stop_workers(Lock& lock) {
  workers_.retire();
  // A producer that is at it just now may still bring something: nobody would end another worker.
  workers_.set_most(0);
  work_.notify_all();
  pause_.notify_all();
  const auto are_gone = [this] { return workers_.alive() == 0; };
  const milliseconds timeout = setup_.options.timeout_action_completion;
  if (quiet_.wait_until(lock, after(timeout), are_gone)) return;
  workers_.request_stop();
  pause_.notify_all();
  if (quiet_.wait_until(lock, after(timeout), are_gone)) return;
  for (const auto& worker : workers_.leave_consuming()) take_back(*worker);
  // The others have just nothing to do but to end.
  quiet_.wait(lock, are_gone);
  if (ending_.consumers_left == 0) return;
  report(
      fmt::format("{} consumers do not end, though asked to: what they have counts as not "
                  "delivered",
                  ending_.consumers_left));
}

void Engine::end_plainly(Lock& lock) {
  advise_workers();
  work_.notify_all();
  if (setup_.consumer && !is_enqueue_only_ && is_window_open()) {
    quiet_.wait_until(lock, after(setup_.options.timeout_shutdown), [this] { return held() == 0; });
  }
  stop_workers(lock);
  // Producers that were at it have their answer before.
  quiet_.wait(lock, [this] { return !is_writing_ && group_.empty(); });
  count();
  if (disk_ == nullptr) {
    ending_.lost = store_->waiting();
    return;
  }
  if (const auto closed = disk_->close_gaps(); !closed) {
    report(closed.error().message + ": what was delivered may come again");
  }
  look_for_progress();
  ending_.saved = disk_->unsettled();
  const bool is_done = ending_.saved == 0 && setup_.consumer;
  if (auto kept = is_done ? disk_->destroy() : disk_->checkpoint(); !kept) {
    report(kept.error().message);
    // Nobody will find them.
    if (kept.error().code == base::ErrorCode::kNotFound) {
      ending_.lost = std::exchange(ending_.saved, 0);
    }
  }
}

/// Everything in memory goes to the disk, within the time that there is.
void Engine::drain_to_disk(Lock& lock) {
  const TimePoint soon = after(setup_.options.timeout_shutdown);
  // For ever, unless the disk takes nothing.
  const auto is_patient = [this] { return setup_.options.save_on_shutdown && !has_da_failed_; };
  const auto has_ended = [this] { return da_worker_.alive() == 0; };
  int tries = 0;
  while ((store_->waiting() > 0 || !has_ended()) && !disk_is_gone_) {
    if (has_ended()) {
      if (has_da_failed_ && !helper_) {
        // It may have been in the way of another process, for a moment.
        if (++tries == kMostTries) break;  // told already
        quiet_.wait_until(lock, now() + kNextTry);
      }
      is_da_ ? start_da_worker() : start_da();
      if (has_ended()) break;  // there is no thread to be had
    }
    const bool was_patient = is_patient();
    const auto changed = [&] {
      return has_ended() || is_patient() != was_patient || disk_is_gone_;
    };
    if (!quiet_.wait_until(lock, was_patient ? TimePoint::max() : soon, changed)) break;
  }
  // It is never interrupted in what it does: with its files half written, or half removed.
  is_da_ = false;
  setup_.figures->is_disk_assisted = false;
  da_.notify_all();
  pause_.notify_all();
  quiet_.wait(lock, has_ended);
}

void Engine::end_helper(Lock& lock) {
  const auto helper = std::exchange(helper_, nullptr);
  std::vector<Message> earlier = std::exchange(earlier_, {});
  lock.unlock();
  std::size_t saved = 0;
  base::Error error;
  if (!earlier.empty()) saved = helper->push_front(earlier, &error);
  if (saved < earlier.size()) report(error.message);
  const Ending of_helper = helper->shut_down();
  lock.lock();
  ending_.lost += earlier.size() - saved;
  ending_.saved += of_helper.saved;
  ending_.lost += of_helper.lost;
  ending_.consumers_left += of_helper.consumers_left;
}

void Engine::end_disk_assisted(Lock& lock) {
  stop_workers(lock);
  drain_to_disk(lock);
  if (helper_) end_helper(lock);
  ending_.lost += store_->waiting() + earlier_.size();
  count();
  if (ending_.lost > 0) {
    report(
        fmt::format("{} messages were in memory when the queue ended, and are lost", ending_.lost));
  }
}

}  // namespace quarry::spool
