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
}

void Engine::worker_main(Worker& self) {
  Lock lock(mutex_);
  self.state = Worker::State::kRunning;
  ++setup_.figures->workers;
  quiet_.notify_all();
  while (!self.is_retired && !self.is_left) {
    if (store_->waiting() > 0) {
      deliver(lock, self);
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

/// Takes one batch to the consumer. What the consumer does not take is rolled back; but a retired
/// worker keeps it and tries again, since what came later may be on the disk already, and waits
/// there for this to be delivered.
void Engine::deliver(Lock& lock, Worker& self) {
  self.batch = store_->take(setup_.options.dequeue_batch_size);
  self.delivered = 0;
  if (self.batch.empty()) {
    count();
    // The disk cannot be read just now.
    if (store_->waiting() > 0) pause_.wait_until(lock, now() + kNextTry);
    return;
  }
  in_flight_ += self.batch.messages.size();
  count();
  bool is_done = false;
  while (true) {
    self.is_consuming = true;
    lock.unlock();
    const Delivery delivery = consume(self);
    lock.lock();
    self.is_consuming = false;
    if (self.is_left) return;
    is_done = settle(self, delivery);
    const bool is_stopped = self.stop.stop_requested();
    if (!is_done && !is_stopped && delivery.retry_after.count() > 0) {
      pause_.wait_until(lock, after(delivery.retry_after),
                        [&] { return self.is_left || is_closing_ || self.stop.stop_requested(); });
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
