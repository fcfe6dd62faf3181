// The end of a queue: as few messages as possible are lost.
//
// A queue without the disk goes on delivering for queue.timeoutshutdown. A disk-assisted one does
// not begin anything any more: its marks become 1 and 0, its disk queue takes and delivers nothing,
// and what is in memory goes to the disk, for as long (with queue.saveonshutdown: for ever).
// Consumers that are at work have queue.timeoutactioncompletion to complete, then are asked to
// stop, and have that long again. Who ignores both is left behind, and what he has counts as not
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
  // A worker that has not begun to run would not see that it is to end.
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
  // Producers that were at it have their answer before.
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
    // Nobody will find them.
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
