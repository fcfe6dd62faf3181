#include "engine.h"

#include <fmt/core.h>

#include <utility>

namespace quarry::spool {

// --- the state --------------------------------------------------------------------------------

EngineState::EngineState(EngineSetup given)
    : setup(std::move(given)),
      disk(setup.disk.get()),
      high_watermark(setup.options.high_watermark.value_or(0)),
      low_watermark(setup.options.low_watermark.value_or(0)) {
  store = std::move(setup.disk);
  if (store == nullptr) store = std::make_unique<MemoryStore>();
}

void EngineState::refresh_progress() {
  if (!is_read_elsewhere()) return;
  disk->refresh_progress();
  count();
}

// --- the engine -------------------------------------------------------------------------------

Engine::Engine(EngineSetup setup)
    : state_(std::move(setup)),
      workers_(state_, {.keep = [this] { return shared_from_this(); },
                        .on_end = [this] { assistance_.worker_ended(); }}),
      assistance_(state_, workers_, [this] { return weak_from_this(); }),
      intake_(state_, workers_, assistance_) {}

void Engine::start(bool found) {
  const Lock lock(state_.mutex);
  state_.count();
  if (found) {
    assistance_.start_with_files();
  } else {
    workers_.advise();
  }
}

bool Engine::wait_until_empty(milliseconds timeout) {
  Lock lock(state_.mutex);
  return state_.quiet.wait_until(lock, after(timeout),
                                 [this] { return state_.held() == 0 && !state_.is_assisted; });
}

ShufflerState Engine::shuffler_state() const {
  const Lock lock(state_.mutex);
  return assistance_.shuffler_state();
}

// --- shutdown ---------------------------------------------------------------------------------
//
// A queue without a disk continues to deliver for queue.timeoutshutdown. A disk-assisted queue
// stops delivery, and moves all its messages to the disk queue: its high and low watermarks become
// 1 and 0. The time limit for these moves is also queue.timeoutshutdown, or none with
// queue.saveonshutdown. Running consumers have queue.timeoutactioncompletion to finish. Then they
// are asked to stop, and have the same time once more. Consumers that still run are abandoned, and
// their messages count as not delivered.

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
  // Wait until all new workers run, because a worker that is still starting cannot be told to stop.
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
  // Wait until all current enqueue() calls have their results.
  intake_.finish(lock);
  state_.count();
  if (state_.disk == nullptr) {
    ending_.lost = state_.store->waiting();
    return;
  }
  if (const auto closed = state_.disk->close_gaps(); !closed) {
    state_.report(closed.error().message + "; delivered messages might be repeated");
  }
  state_.refresh_progress();
  ending_.saved = state_.disk->unsettled();
  const bool is_done = ending_.saved == 0 && state_.setup.consumer;
  if (auto kept = is_done ? state_.disk->destroy() : state_.disk->checkpoint(); !kept) {
    state_.report(kept.error().message);
    // If the directory is gone, the next process cannot find the messages, so they count as lost.
    if (kept.error().code == ErrorCode::kNotFound) {
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
    state_.report(fmt::format("{} messages in memory were lost during shutdown", ending_.lost));
  }
}

// --- for the disk queue of a disk-assisted queue -----------------------------------------------

void Engine::set_max_workers(std::size_t max) {
  const Lock lock(state_.mutex);
  workers_.set_max(state_.setup.consumer ? max : 0);
  workers_.advise();
}

void Engine::enqueue_only() {
  const Lock lock(state_.mutex);
  state_.is_enqueue_only = true;
  workers_.retire();
}

Result<void> Engine::destroy() {
  Lock lock(state_.mutex);
  state_.is_closing = state_.is_enqueue_only = true;
  // Wait without a time limit: all messages were delivered, so no consumer is running.
  workers_.retire();
  state_.quiet.wait(lock, [this] { return workers_.alive() == 0; });
  workers_.join_ended();
  is_ended_ = true;
  state_.setup.figures->disk_bytes = 0;
  auto gone = state_.disk->destroy();
  // If the files cannot be removed, at least record that the messages were delivered.
  if (!gone && !state_.disk->checkpoint()) state_.report("delivered messages might be repeated");
  return gone;
}

std::size_t Engine::push_front(std::span<Message> messages, Error* error) {
  const Lock lock(state_.mutex);
  const std::size_t count = state_.disk->push_front(messages, error);
  state_.count();
  return count;
}

}  // namespace quarry::spool
