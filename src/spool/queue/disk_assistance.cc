#include "disk_assistance.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

/// Delay after a disk error.
constexpr std::chrono::seconds kNextDiskTry{1};
/// Maximum number of messages per move to disk, unless queue.dequeuebatchsize is larger.
constexpr std::size_t kShuffled = 1024;
/// Number of attempts to create the disk queue at shutdown, and the delay between attempts.
constexpr int kMaxOpenings = 3;
constexpr milliseconds kNextTryAtEnd{100};

}  // namespace

DiskAssistance::DiskAssistance(EngineState& state, DeliveryWorkers& workers,
                               std::function<std::weak_ptr<void>()> watch)
    : state_(state),
      workers_(workers),
      watch_(std::move(watch)),
      worker_([this](Worker& self) { run(self); }, 1) {}

// --- entering the mode ------------------------------------------------------------------------

void DiskAssistance::start_with_files() {
  has_files_ = true;
  start();
}

bool DiskAssistance::messages_came() {
  if (state_.is_da_enabled() && state_.level() >= state_.high_watermark) {
    if (!state_.is_assisted && now() >= next_try_) {
      ++state_.setup.figures->high_watermark_hits;
      start();
    } else if (is_held_) {
      ++state_.setup.figures->high_watermark_hits;
      is_held_ = false;
    }
  }
  if (!state_.is_assisted) return false;
  start_worker();
  if (shuffler_state_ == ShufflerState::kOnEmptyQueue || !is_held_) changed_.notify_all();
  return true;
}

TimePoint DiskAssistance::try_again() {
  const bool may_start =
      state_.is_da_enabled() && !state_.is_assisted && state_.level() >= state_.high_watermark;
  if (may_start && now() >= next_try_) start();
  return may_start && !state_.is_assisted ? next_try_ : TimePoint::max();
}

void DiskAssistance::start() {
  state_.is_assisted = true;
  is_held_ = false;
  ++state_.setup.figures->da_runs;
  state_.setup.figures->is_disk_assisted = true;
  workers_.retire();
  worker_.advise(1);
}

/// Starts the worker that moves messages (the shuffler) if the mode is on and the worker is not
/// running.
void DiskAssistance::start_worker() {
  if (state_.is_assisted && worker_.alive() == 0) worker_.advise(1);
}

/// Creates the disk queue. Releases the mutex meanwhile, because opening the disk queue reads
/// files. Returns false on failure.
bool DiskAssistance::make_helper(Lock& lock) {
  lock.unlock();
  const Roles roles = state_.setup.consumer ? Roles::kBoth : Roles::kWriter;
  auto disk =
      DiskStore::open(state_.setup.files, state_.setup.options, state_.setup.reporter, roles);
  std::shared_ptr<Engine> helper;
  if (disk) {
    EngineSetup setup{.options = state_.setup.options,
                      .consumer = state_.setup.consumer,
                      .reporter = state_.setup.reporter,
                      .figures = state_.setup.figures,
                      .files = state_.setup.files,
                      .disk = std::move(*disk),
                      .on_empty =
                          [this, watched = watch_()] {
                            if (const auto kept = watched.lock()) helper_is_empty();
                          },
                      .local_time = state_.setup.local_time};
    setup.options.type = QueueType::kDisk;
    helper = std::make_shared<Engine>(std::move(setup));
    helper->set_max_workers(0);
    helper->start(false);
  }
  lock.lock();
  if (!disk) {
    if (!std::exchange(has_failed_, true)) {
      state_.report("cannot use disk assistance: " + disk.error().message);
    }
    next_try_ = now() + kNextDiskTry;
    return false;
  }
  has_failed_ = false;
  state_.helper = std::move(helper);
  if (state_.is_closing) state_.helper->enqueue_only();
  share_workers();
  return true;
}

/// Divides queue.workerthreads between the two queues. The disk queue gets all workers except those
/// that are busy for the queue in memory.
void DiskAssistance::share_workers() {
  if (!state_.helper) return;
  const std::size_t busy = workers_.alive();
  const std::size_t max = state_.setup.options.worker_threads;
  state_.helper->set_max_workers(busy < max ? max - busy : 0);
}

void DiskAssistance::worker_ended() {
  if (state_.is_assisted && state_.disk == nullptr) share_workers();
}

// --- moving messages --------------------------------------------------------------------------

void DiskAssistance::run(Worker& self) {
  Lock lock(state_.mutex);
  self.state = Worker::State::kRunning;
  state_.quiet.notify_all();
  while (state_.is_assisted) {
    shuffler_state_ = ShufflerState::kAtWork;
    if (!state_.helper && !make_helper(lock)) {
      // The disk queue cannot be opened. Try again if files of an earlier run exist, because the
      // messages in these files have to be delivered first.
      if (has_files_ && !state_.is_closing) {
        state_.pause.wait_until(lock, next_try_);
        continue;
      }
      leave();
      break;
    }
    has_files_ = false;
    if (is_over()) {
      if (!switch_back(lock)) break;
      continue;
    }
    if (state_.store->waiting() == 0) {
      if (state_.is_closing || !wait_on_empty_queue(lock)) break;
      continue;
    }
    if (state_.level() <= state_.low_watermark) is_held_ = true;
    if (state_.level() >= state_.high_watermark) is_held_ = false;
    if (is_held_) {
      wait_at_low_watermark(lock);
    } else {
      shuffle(lock, self);
    }
  }
  shuffler_state_ = ShufflerState::kNone;
  self.state = Worker::State::kEnded;
  state_.quiet.notify_all();
}

void DiskAssistance::wait_at_low_watermark(Lock& lock) {
  shuffler_state_ = ShufflerState::kAtLowWatermark;
  changed_.wait(lock);
}

/// Waits for messages. Returns false if the worker should end because it was idle for too long.
bool DiskAssistance::wait_on_empty_queue(Lock& lock) {
  shuffler_state_ = ShufflerState::kOnEmptyQueue;
  const TimePoint end = after(state_.setup.options.timeout_worker_thread_shutdown);
  const bool is_in_time = changed_.wait_until(lock, end) == std::cv_status::no_timeout;
  return is_in_time || state_.store->waiting() > 0 || is_over();
}

/// Moves one batch to the disk queue.
void DiskAssistance::shuffle(Lock& lock, Worker& self) {
  // Stop at the low watermark, which is 0 during a shutdown.
  const std::size_t max = static_cast<std::size_t>(state_.level()) - state_.low_watermark;
  self.batch = state_.store->take(
      std::min(max, std::max(state_.setup.options.dequeue_batch_size, kShuffled)));
  state_.in_flight += self.batch.messages.size();
  const auto helper = state_.helper;
  lock.unlock();
  Error error;
  const std::size_t done = helper->enqueue(self.batch.messages, Delay::kNone, &error);
  lock.lock();
  const bool is_whole = done == self.batch.messages.size();
  // During a shutdown, skip a message that is too long, so that the messages behind it are not
  // lost.
  const bool is_left_out = !is_whole && state_.is_closing && error.code == ErrorCode::kLimit;
  if (is_left_out) {
    state_.report("lost a message: " + error.message);
    ++lost_;
  }
  state_.in_flight -= self.batch.messages.size();
  state_.store->settle(std::exchange(self.batch, {}), is_left_out ? done + 1 : done);
  state_.count();
  if (done > 0) state_.room.notify_all();
  if (is_whole || is_left_out) {
    has_failed_ = false;
    disk_is_gone_.reset();
    return;
  }
  if (error.code == ErrorCode::kNotFound) disk_is_gone_ = error;
  if (!std::exchange(has_failed_, true)) {
    state_.quiet.notify_all();
    state_.report(fmt::format("messages stay in memory: {}", error.message));
  }
  next_try_ = now() + kNextDiskTry;
  is_refused_ = state_.helper->is_empty();
  // If the mode is over, messages are delivered from memory again. Otherwise, wait until the
  // workers of the disk queue have freed space.
  if (is_over()) return;
  shuffler_state_ = ShufflerState::kOnFullDisk;
  state_.pause.wait_until(lock, next_try_);
}

// --- leaving the mode -------------------------------------------------------------------------

bool DiskAssistance::is_over() const {
  if (state_.is_closing || !state_.setup.consumer) return false;
  if (!state_.helper || !state_.helper->is_empty()) return false;
  return state_.level() < state_.high_watermark || is_refused_;
}

/// Called by a worker of the disk queue when that queue is empty. Starts the shuffler if it has
/// ended, and wakes the shuffler if it is waiting. A shuffler that is about to wait does not need
/// the notification, because it checks is_over() before it waits.
void DiskAssistance::helper_is_empty() {
  const Lock lock(state_.mutex);
  start_worker();
  changed_.notify_all();
}

/// Ends the mode. Messages are then delivered from memory again.
void DiskAssistance::leave() {
  state_.is_assisted = false;
  state_.setup.figures->is_disk_assisted = false;
  if (!state_.is_closing) workers_.come_back();
  state_.quiet.notify_all();
  // Wake waiting producers, because one of them might have to retry the disk.
  state_.room.notify_all();
}

/// Ends the disk queue. Releases the mutex meanwhile, because a worker of the disk queue might be
/// waiting for the mutex. Returns true if the high watermark was reached again, so that the mode
/// starts again. Returns false if the mode has ended.
bool DiskAssistance::switch_back(Lock& lock) {
  const auto helper = std::exchange(state_.helper, nullptr);
  lock.unlock();
  const Result<void> gone = helper->destroy();
  lock.lock();
  if (!gone) state_.report(gone.error().message);
  leave();
  const bool is_low = state_.level() < state_.high_watermark;
  if (state_.is_closing || is_low || std::exchange(is_refused_, false)) return false;
  ++state_.setup.figures->high_watermark_hits;
  start();
  return true;
}

// --- shutdown ---------------------------------------------------------------------------------

void DiskAssistance::begin_ending() {
  if (state_.is_da_enabled()) {
    state_.high_watermark = 1;
    state_.low_watermark = 0;
    is_held_ = false;
    if (state_.helper) state_.helper->enqueue_only();
  }
  changed_.notify_all();
}

void DiskAssistance::drain(Lock& lock) {
  const TimePoint soon = after(state_.setup.options.timeout_shutdown);
  // With queue.saveonshutdown, wait without a time limit, unless the disk fails.
  const auto is_patient = [this] { return state_.setup.options.save_on_shutdown && !has_failed_; };
  const auto has_ended = [this] { return worker_.alive() == 0; };
  int tries = 0;
  while ((state_.store->waiting() > 0 || !has_ended()) && !disk_is_gone_) {
    if (has_ended()) {
      if (has_failed_ && !state_.helper) {
        if (++tries == kMaxOpenings) break;  // already reported
        state_.quiet.wait_until(lock, now() + kNextTryAtEnd);
      }
      state_.is_assisted ? start_worker() : start();
      if (has_ended()) break;  // could not start a thread
    }
    const bool was_patient = is_patient();
    const auto changed = [&] {
      return has_ended() || is_patient() != was_patient || disk_is_gone_;
    };
    if (!state_.quiet.wait_until(lock, was_patient ? TimePoint::max() : soon, changed)) break;
  }
  // Wait until the worker has ended. Do not interrupt it, because it might be writing or removing
  // files.
  state_.is_assisted = false;
  state_.setup.figures->is_disk_assisted = false;
  changed_.notify_all();
  state_.pause.notify_all();
  state_.quiet.wait(lock, has_ended);
}

void DiskAssistance::end_helper(Lock& lock, Ending& ending) {
  if (!state_.helper) return;
  const auto helper = std::exchange(state_.helper, nullptr);
  std::vector<Message> earlier = std::exchange(state_.earlier, {});
  lock.unlock();
  std::size_t saved = 0;
  Error error;
  if (!earlier.empty()) saved = helper->push_front(earlier, &error);
  if (saved < earlier.size()) state_.report(error.message);
  const Ending of_helper = helper->shut_down();
  lock.lock();
  ending.lost += earlier.size() - saved;
  ending.saved += of_helper.saved;
  ending.lost += of_helper.lost;
  ending.consumers_left += of_helper.consumers_left;
}

}  // namespace quarry::spool
