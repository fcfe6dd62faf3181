// Workers: they take batches from the store to the consumer until there is nothing left, wait a
// while for more, and end.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

/// After a consumer that threw, or a disk that could not be read.
constexpr milliseconds kNextTry{1000};
/// After a consumer that took nothing, whatever it says.
constexpr milliseconds kLeastPause{10};
/// How long a worker trusts what the clock on the wall has shown.
constexpr std::chrono::seconds kNextLookAtClock{60};

}  // namespace

/// Enough workers for what waits.
void Engine::advise_workers() {
  const std::uint64_t waiting = store_->waiting();
  if (waiting == 0 || is_da_ || is_enqueue_only_) return;
  const auto wanted =
      static_cast<std::size_t>(waiting / *setup_.options.worker_thread_minimum_messages + 1);
  if (!workers_.advise(wanted) && workers_.alive() == 0) {
    report("no thread can be started to deliver messages: trying again with the next message");
  }
  // A notice costs a system call, and a burst of messages is news but once.
  if (idle_ > woken_ && workers_.alive() - idle_ + woken_ < wanted) {
    ++woken_;
    work_.notify_one();
  }
  if (gathering_ > 0 && waiting >= setup_.options.min_dequeue_batch_size) pause_.notify_all();
}

void Engine::worker_main(Worker& self) {
  Lock lock(mutex_);
  self.state = Worker::State::kRunning;
  ++setup_.figures->workers;
  quiet_.notify_all();
  while (!self.is_retired && !self.is_left) {
    if (store_->waiting() > 0) {
      if (!is_window_open()) {
        if (is_closing_) break;
        wait_for_window(lock, self);
      } else if (wants_more(self)) {
        wait_for_more(lock, self);
      } else {
        deliver(lock, self);
      }
      continue;
    }
    if (is_closing_) break;
    if (is_helper() && !is_told_empty_ && held() == 0) {
      tell_empty(lock);
      continue;
    }
    if (!wait_for_work(lock)) break;
  }
  if (!self.is_left) worker_ended(self);
}

/// The queue that this one helps is told that it is empty. Its mutex is taken for that.
void Engine::tell_empty(Lock& lock) {
  is_told_empty_ = true;
  lock.unlock();
  setup_.on_empty();
  lock.lock();
}

/// It is the time of the day to deliver messages, or the last moment: what ends without a disk has
/// no other.
bool Engine::is_window_open() const {
  if (setup_.options.dequeue_time_end == kNoDequeueTimeEnd) return true;
  if (is_closing_ && disk_ == nullptr && !is_da_enabled()) return true;
  return until_window(setup_.options, setup_.local_time()).count() == 0;
}

void Engine::wait_for_window(Lock& lock, const Worker& self) {
  const auto left = until_window(setup_.options, setup_.local_time());
  pause_.wait_until(lock, now() + std::min(left, kNextLookAtClock), [&] {
    return self.is_left || self.is_retired || is_closing_ || self.stop.stop_requested();
  });
}

/// There is less than a worker should wait for (queue.mindequeuebatchsize).
bool Engine::wants_more(const Worker& self) const {
  const std::uint64_t waiting = store_->waiting();
  return waiting > 0 && waiting < setup_.options.min_dequeue_batch_size && !is_closing_ &&
         !self.is_retired && !self.is_left;
}

/// Waits for that, and then takes what there is.
void Engine::wait_for_more(Lock& lock, Worker& self) {
  ++gathering_;
  pause_.wait_until(lock, after(setup_.options.min_dequeue_batch_timeout),
                    [&] { return !wants_more(self); });
  --gathering_;
  if (!self.is_left && !self.is_retired && store_->waiting() > 0) deliver(lock, self);
}

/// False: none came for so long that the worker should end.
bool Engine::wait_for_work(Lock& lock) {
  ++idle_;
  bool is_in_time = true;
  if (setup_.options.timeout_worker_thread_shutdown == kEternal) {
    work_.wait(lock);
  } else {
    is_in_time = work_.wait_until(lock, now() + setup_.options.timeout_worker_thread_shutdown) ==
                 std::cv_status::no_timeout;
  }
  --idle_;
  if (woken_ > 0) --woken_;
  return is_in_time || store_->waiting() > 0;
}

void Engine::worker_ended(Worker& self) {
  self.state = Worker::State::kEnded;
  --setup_.figures->workers;
  quiet_.notify_all();
  if (is_da_ && disk_ == nullptr) share_workers();
}

/// The consumer of SELF's batch, without the mutex.
Delivery Engine::consume(const Worker& self) {
  const std::span<const Message> rest = std::span(self.batch.messages).subspan(self.delivered);
  try {
    Delivery delivery = setup_.consumer(rest, self.stop.get_token());
    delivery.delivered = std::min(delivery.delivered, rest.size());
    return delivery;
  } catch (const std::exception& failure) {
    report(fmt::format("the consumer failed: {}", failure.what()));
  } catch (...) {
    report("the consumer failed");
  }
  return {.delivered = 0, .retry_after = kNextTry};
}

/// Notes what DELIVERY says of SELF's batch. True: nothing is left of it.
bool Engine::settle(Worker& self, const Delivery& delivery) {
  self.delivered += delivery.delivered;
  in_flight_ -= delivery.delivered;
  setup_.figures->delivered += delivery.delivered;
  const std::size_t left = self.batch.messages.size() - self.delivered;
  setup_.figures->retried += left;
  return left == 0;
}

/// What is left of BATCH after DELIVERED is the first to come again.
void Engine::put_back(Batch batch, std::size_t delivered) {
  if (!helper_) {
    store_->settle(std::move(batch), delivered);
    return;
  }
  // At the end, with what came later on the disk already.
  const auto rest = batch.messages.begin() + static_cast<std::ptrdiff_t>(delivered);
  std::move(rest, batch.messages.end(), std::back_inserter(earlier_));
}

/// What DELIVERY left of SELF's batch is to come again after a while. When the queue has begun to
/// end since (WAS_CLOSING: before) it comes at once, and then again after its while: who takes
/// nothing is not to be asked as fast as the machine can.
void Engine::pause(Lock& lock, const Worker& self, const Delivery& delivery, bool was_closing) {
  const milliseconds time =
      std::max(delivery.retry_after, delivery.delivered == 0 ? kLeastPause : milliseconds(0));
  if (time.count() <= 0) return;
  pause_.wait_until(lock, after(time), [&] {
    return self.is_left || self.stop.stop_requested() ||
           (is_closing_ && (!was_closing || self.is_retired));
  });
}

/// Discards those of BATCH that matter least, while the queue, which has FULL messages with them,
/// has so many that it should.
void Engine::discard_queued(Batch& batch, std::uint64_t full) {
  const QueueOptions& options = setup_.options;
  // What is on the disk of another queue is in nobody's way.
  if (options.discard_severity > kLeastSevere || is_helper() || full < *options.discard_mark)
    return;
  Batch kept;
  Batch dropped;
  for (std::size_t i = 0; i < batch.messages.size(); ++i) {
    Message& message = batch.messages[i];
    const bool is_dropped =
        message.severity >= options.discard_severity && full >= *options.discard_mark;
    if (is_dropped) --full;
    Batch& to = is_dropped ? dropped : kept;
    to.tickets.push_back(batch.ticket(i));
    to.messages.push_back(std::move(message));
  }
  const std::size_t count = dropped.messages.size();
  batch = std::move(kept);
  if (count == 0) return;
  setup_.figures->discarded_queued += count;
  store_->settle(std::move(dropped), count);
  room_.notify_all();
}

/// Takes one batch to the consumer. What the consumer does not take is rolled back; but a retired
/// worker keeps it and tries again, since what came later may be on the disk already, and waits
/// there for this to be delivered.
void Engine::deliver(Lock& lock, Worker& self) {
  const std::uint64_t full = fullness();
  self.batch = store_->take(setup_.options.dequeue_batch_size);
  self.delivered = 0;
  const bool has_any = !self.batch.empty();
  discard_queued(self.batch, full);
  if (self.batch.empty()) {
    count();
    if (held() == 0) quiet_.notify_all();
    // The disk cannot be read just now.
    if (!has_any && store_->waiting() > 0) pause_.wait_until(lock, now() + kNextTry);
    return;
  }
  in_flight_ += self.batch.messages.size();
  count();
  bool is_done = false;
  while (true) {
    self.is_consuming = true;
    const bool was_closing = is_closing_;
    lock.unlock();
    const Delivery delivery = consume(self);
    lock.lock();
    self.is_consuming = false;
    if (self.is_left) return;
    is_done = settle(self, delivery);
    if (!is_done) {
      pause(lock, self, delivery, was_closing);
      if (self.is_left) return;
    }
    const bool keeps = self.is_retired && !is_closing_ && !is_helper();
    if (is_done || !keeps) break;
  }
  in_flight_ -= self.batch.messages.size() - self.delivered;
  put_back(std::exchange(self.batch, {}), self.delivered);
  count();
  room_.notify_all();
  if (held() == 0) quiet_.notify_all();
  if (setup_.options.dequeue_slowdown.count() > 0 && !is_closing_) {
    pause_.wait_until(lock, now() + setup_.options.dequeue_slowdown,
                      [&] { return self.is_left || is_closing_ || self.is_retired; });
  }
}

}  // namespace quarry::spool
