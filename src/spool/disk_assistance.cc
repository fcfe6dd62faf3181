// Disk-assisted mode, as rsyslog's document "The rsyslog queue object" reasons it out.
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
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

using base::Error;
using base::Result;

/// After the disk has refused something.
constexpr std::chrono::seconds kNextTry{1};
/// Messages that go to the disk at once, at least, where so many may.
constexpr std::size_t kShuffled = 1024;

}  // namespace

// --- in ---------------------------------------------------------------------------------------

void Engine::start_da() {
  is_da_ = true;
  is_held_ = false;
  ++setup_.figures->da_runs;
  setup_.figures->is_disk_assisted = true;
  workers_.retire();
  work_.notify_all();
  pause_.notify_all();
  da_worker_.advise(1);
}

/// "DA worker startup initiation": anybody who has the mutex may call it, as often as he likes.
void Engine::start_da_worker() {
  if (is_da_ && da_worker_.alive() == 0) da_worker_.advise(1);
}

/// Makes the disk queue, without the mutex. False: it cannot be made.
bool Engine::make_helper(Lock& lock) {
  lock.unlock();
  const Roles roles = setup_.consumer ? Roles::kBoth : Roles::kWriter;
  auto disk = DiskStore::open(setup_.files, setup_.options, setup_.reporter, roles);
  std::shared_ptr<Engine> helper;
  if (disk) {
    Setup setup{.options = setup_.options,
                .consumer = setup_.consumer,
                .reporter = setup_.reporter,
                .figures = setup_.figures,
                .files = setup_.files,
                .disk = std::move(*disk),
                .on_empty =
                    [owner = weak_from_this()] {
                      if (const auto engine = owner.lock()) engine->helper_is_empty();
                    },
                .local_time = setup_.local_time};
    setup.options.type = QueueType::kDisk;
    helper = std::make_shared<Engine>(std::move(setup));
    helper->set_most_workers(0);
    helper->start(false);
  }
  lock.lock();
  if (!disk) {
    if (!std::exchange(has_da_failed_, true)) {
      report("no disk assistance: " + disk.error().message);
    }
    next_da_ = now() + kNextTry;
    return false;
  }
  has_da_failed_ = false;
  helper_ = std::move(helper);
  if (is_closing_) helper_->enqueue_only();
  share_workers();
  return true;
}

/// As many consumers may begin on the disk queue as the workers of this one have left.
void Engine::share_workers() {
  if (!helper_) return;
  const std::size_t busy = workers_.alive();
  const std::size_t most = setup_.options.worker_threads;
  helper_->set_most_workers(busy < most ? most - busy : 0);
}

// --- through ----------------------------------------------------------------------------------

void Engine::da_worker_main(Worker& self) {
  Lock lock(mutex_);
  self.state = Worker::State::kRunning;
  quiet_.notify_all();
  while (is_da_) {
    da_place_ = DaPlace::kAtWork;
    if (!helper_ && !make_helper(lock)) {
      // What was found at the start is to be delivered first.
      if (has_files_ && !is_closing_) {
        pause_.wait_until(lock, next_da_);
        continue;
      }
      leave_da();
      break;
    }
    has_files_ = false;
    if (is_da_over()) {
      if (!switch_back(lock)) break;
      continue;
    }
    if (store_->waiting() == 0) {
      if (is_closing_ || !wait_on_empty_queue(lock)) break;
      continue;
    }
    if (store_->waiting() <= low_watermark_) is_held_ = true;
    if (store_->waiting() >= high_watermark_) is_held_ = false;
    if (is_held_) {
      wait_at_low_watermark(lock);
    } else {
      shuffle(lock, self);
    }
  }
  da_place_ = DaPlace::kNone;
  self.state = Worker::State::kEnded;
  quiet_.notify_all();
}

void Engine::wait_at_low_watermark(Lock& lock) {
  da_place_ = DaPlace::kAtLowWatermark;
  da_.wait(lock);
}

/// False: for so long nothing came that the worker should end.
bool Engine::wait_on_empty_queue(Lock& lock) {
  da_place_ = DaPlace::kOnEmptyQueue;
  const milliseconds timeout = setup_.options.timeout_worker_thread_shutdown;
  if (timeout == kEternal) {
    da_.wait(lock);
    return true;
  }
  const bool is_in_time = da_.wait_until(lock, now() + timeout) == std::cv_status::no_timeout;
  return is_in_time || store_->waiting() > 0 || is_da_over();
}

/// Takes one batch to the disk queue.
void Engine::shuffle(Lock& lock, Worker& self) {
  // Not below the low water mark, unless at the end.
  const std::size_t most = static_cast<std::size_t>(store_->waiting()) - low_watermark_;
  self.batch = store_->take(std::min(most, std::max(setup_.options.dequeue_batch_size, kShuffled)));
  in_flight_ += self.batch.messages.size();
  const auto helper = helper_;
  lock.unlock();
  Error error;
  const std::size_t done = helper->enqueue(self.batch.messages, Delay::kNone, &error);
  lock.lock();
  const bool is_whole = done == self.batch.messages.size();
  // At the end it would take the others with it.
  const bool is_left_out = !is_whole && is_closing_ && error.code == base::ErrorCode::kLimit;
  if (is_left_out) {
    report("it is lost: " + error.message);
    ++ending_.lost;
  }
  in_flight_ -= self.batch.messages.size();
  store_->settle(std::exchange(self.batch, {}), is_left_out ? done + 1 : done);
  count();
  if (done > 0) room_.notify_all();
  if (is_whole || is_left_out) {
    has_da_failed_ = false;
    disk_is_gone_.reset();
    return;
  }
  if (error.code == base::ErrorCode::kNotFound) disk_is_gone_ = error;
  if (!std::exchange(has_da_failed_, true)) {
    quiet_.notify_all();
    report(fmt::format("messages stay in memory: {}", error.message));
  }
  next_da_ = now() + kNextTry;
  is_refused_ = helper_->is_empty();
  // Without anything on the disk memory can deliver by itself; else there is room in time.
  if (is_da_over()) return;
  da_place_ = DaPlace::kOnFullDisk;
  pause_.wait_until(lock, next_da_);
}

// --- out --------------------------------------------------------------------------------------

bool Engine::is_da_over() const {
  if (is_closing_ || !setup_.consumer) return false;
  if (!helper_ || !helper_->is_empty()) return false;
  return store_->waiting() < high_watermark_ || is_refused_;
}

/// Called by the disk queue's worker when that has nothing left. This one's worker may be about to
/// wait, or wait, or have ended.
void Engine::helper_is_empty() {
  const Lock lock(mutex_);
  start_da_worker();
  da_.notify_all();
}

/// The queue in memory goes on by itself.
void Engine::leave_da() {
  is_da_ = false;
  setup_.figures->is_disk_assisted = false;
  if (!is_closing_) {
    workers_.retire(false);
    advise_workers();
  }
  quiet_.notify_all();
  // Who waits for room may have to see to the next try.
  room_.notify_all();
}

/// Ends the disk queue, without the mutex, since its worker may wait for that. False: it is done.
/// True: the high water mark was hit meanwhile, so that it begins anew.
bool Engine::switch_back(Lock& lock) {
  const auto helper = std::exchange(helper_, nullptr);
  lock.unlock();
  const Result<void> gone = helper->destroy();
  lock.lock();
  if (!gone) report(gone.error().message);
  leave_da();
  const bool is_low = store_->waiting() < high_watermark_;
  if (is_closing_ || is_low || std::exchange(is_refused_, false)) return false;
  ++setup_.figures->high_watermark_hits;
  start_da();
  return true;
}

// --- of the disk queue ------------------------------------------------------------------------

void Engine::set_most_workers(std::size_t most) {
  const Lock lock(mutex_);
  workers_.set_most(setup_.consumer ? most : 0);
  advise_workers();
}

void Engine::enqueue_only() {
  const Lock lock(mutex_);
  is_enqueue_only_ = true;
  workers_.retire();
  work_.notify_all();
  pause_.notify_all();
}

Result<void> Engine::destroy() {
  Lock lock(mutex_);
  is_closing_ = is_enqueue_only_ = true;
  // None of them has a consumer that runs: everything was delivered.
  workers_.retire();
  work_.notify_all();
  pause_.notify_all();
  quiet_.wait(lock, [this] { return workers_.alive() == 0; });
  workers_.join_ended();
  is_ended_ = true;
  setup_.figures->disk_bytes = 0;
  auto gone = disk_->destroy();
  // What could not be removed is at least known to be delivered.
  if (!gone && !disk_->checkpoint()) report("what was delivered may come again");
  return gone;
}

std::size_t Engine::push_front(std::span<Message> messages, Error* error) {
  const Lock lock(mutex_);
  const std::size_t count = disk_->push_front(messages, error);
  this->count();
  return count;
}

}  // namespace quarry::spool
