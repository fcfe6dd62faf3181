// Shuts down a queue, losing as few messages as possible.
//
// A queue without a disk continues to deliver for queue.timeoutshutdown. A disk-assisted queue
// starts nothing new: its marks become 1 and 0, its disk queue accepts and delivers nothing, and
// what is in memory goes to disk within that time (without limit with queue.saveonshutdown).
// Consumers in progress get queue.timeoutactioncompletion to finish, then are asked to stop, and
// get that time again. A consumer that ignores both is abandoned, and its messages count as not
// delivered.
#include <fmt/core.h>

#include <utility>

#include "engine.h"

namespace quarry::spool {

Ending Engine::shut_down() {
  Lock lock(state_.mutex);
  if (state_.is_closing) {
    state_.quiet.wait(lock, [this] { return is_ended_; });
    return ending_;
  }
  state_.is_closing = true;
  assistance_.begin_ending();
  state_.room.notify_all();
  state_.pause.notify_all();
  // A worker that has not started yet would not see the request to end.
  state_.quiet.wait(lock,
                    [this] { return !workers_.any_starting() && !assistance_.any_starting(); });
  state_.is_da_enabled() ? end_disk_assisted(lock) : end_plainly(lock);
  workers_.join_ended();
  assistance_.join_ended();
  state_.setup.figures->lost += ending_.lost;
  is_ended_ = true;
  state_.quiet.notify_all();
  return ending_;
}

void Engine::end_plainly(Lock& lock) {
  workers_.advise();
  workers_.wake();
  if (state_.setup.consumer && !state_.is_enqueue_only && workers_.is_window_open()) {
    state_.quiet.wait_until(lock, after(state_.setup.options.timeout_shutdown),
                            [this] { return state_.held() == 0; });
  }
  ending_.consumers_left += workers_.stop(lock);
  // Let producers in progress get their answers first.
  intake_.finish(lock);
  state_.count();
  if (state_.disk == nullptr) {
    ending_.lost = state_.store->waiting();
    return;
  }
  if (const auto closed = state_.disk->close_gaps(); !closed) {
    state_.report(closed.error().message + ": what was delivered may come again");
  }
  state_.refresh_progress();
  ending_.saved = state_.disk->unsettled();
  const bool is_done = ending_.saved == 0 && state_.setup.consumer;
  if (auto kept = is_done ? state_.disk->destroy() : state_.disk->checkpoint(); !kept) {
    state_.report(kept.error().message);
    // Nobody would find the messages.
    if (kept.error().code == base::ErrorCode::kNotFound) {
      ending_.lost = std::exchange(ending_.saved, 0);
    }
  }
}

void Engine::end_disk_assisted(Lock& lock) {
  ending_.consumers_left += workers_.stop(lock);
  assistance_.drain(lock);
  assistance_.end_helper(lock, ending_);
  ending_.lost += assistance_.lost() + state_.store->waiting() + state_.earlier.size();
  state_.count();
  if (ending_.lost > 0) {
    state_.report(
        fmt::format("{} messages were in memory when the queue ended, and are lost", ending_.lost));
  }
}

}  // namespace quarry::spool
