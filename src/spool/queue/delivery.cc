#include "delivery.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace quarry::spool {
namespace {

/// Delay after an exception of the consumer or a failed read from disk.
constexpr milliseconds kNextTry{1000};
/// Minimum delay after a consumer has not accepted any messages.
constexpr milliseconds kMinPause{10};
/// Interval between checks of the wall clock.
constexpr std::chrono::seconds kClockCheckInterval{60};

}  // namespace

Delivery call(const Consumer& consumer, std::span<const Message> batch, const std::stop_token& stop,
              const Reporter& reporter) {
  try {
    Delivery delivery = consumer(batch, stop);
    delivery.delivered = std::min(delivery.delivered, batch.size());
    return delivery;
  } catch (const std::exception& failure) {
    reporter(fmt::format("the consumer failed: {}", failure.what()));
  } catch (...) {
    reporter("the consumer failed");
  }
  return {.delivered = 0, .retry_after = kNextTry};
}

DeliveryWorkers::DeliveryWorkers(EngineState& state, Owner owner)
    : state_(state),
      owner_(std::move(owner)),
      pool_(
          [this](Worker& self) {
            const auto kept = owner_.keep();
            run(self);
          },
          state.setup.consumer ? state.setup.options.worker_threads : 0) {}

void DeliveryWorkers::retire() {
  pool_.retire();
  work_.notify_all();
  state_.pause.notify_all();
}

void DeliveryWorkers::come_back() {
  pool_.retire(false);
  advise();
}

void DeliveryWorkers::advise() {
  const std::uint64_t waiting = state_.store->waiting();
  if (waiting == 0 || state_.is_assisted || state_.is_enqueue_only) return;
  const auto wanted =
      static_cast<std::size_t>(waiting / *state_.setup.options.worker_thread_minimum_messages + 1);
  if (!pool_.advise(wanted) && pool_.alive() == 0) {
    state_.report("cannot start a thread to deliver messages; trying again with the next message");
  }
  // Each wake-up costs a system call, so only one worker is woken for a burst of messages.
  if (idle_ > woken_ && pool_.alive() - idle_ + woken_ < wanted) {
    ++woken_;
    work_.notify_one();
  }
  if (gathering_ > 0 && waiting >= state_.setup.options.min_dequeue_batch_size)
    state_.pause.notify_all();
}

void DeliveryWorkers::run(Worker& self) {
  Lock lock(state_.mutex);
  self.state = Worker::State::kRunning;
  ++state_.setup.figures->workers;
  state_.quiet.notify_all();
  while (!self.is_retired && !self.is_left) {
    if (state_.store->waiting() > 0) {
      if (!is_window_open()) {
        if (state_.is_closing) break;
        wait_for_window(lock, self);
      } else if (wants_more(self)) {
        wait_for_more(lock, self);
      } else {
        deliver(lock, self);
      }
      continue;
    }
    if (state_.is_closing) break;
    if (state_.is_helper() && !state_.has_notified_empty && state_.held() == 0) {
      notify_empty(lock);
      continue;
    }
    if (!wait_for_work(lock)) break;
  }
  if (!self.is_left) ended(self);
}

/// Tells the queue that owns this helper that the helper is empty. Releases the helper's mutex
/// while on_empty() locks the owner's mutex, because a thread that holds the owner's mutex might be
/// waiting for the helper's mutex.
void DeliveryWorkers::notify_empty(Lock& lock) {
  state_.has_notified_empty = true;
  lock.unlock();
  state_.setup.on_empty();
  lock.lock();
}

bool DeliveryWorkers::is_window_open() const {
  if (state_.setup.options.dequeue_time_end == kNoDequeueTimeEnd) return true;
  if (state_.is_closing && state_.disk == nullptr && !state_.is_da_enabled()) return true;
  return until_window(state_.setup.options, state_.setup.local_time()).count() == 0;
}

void DeliveryWorkers::wait_for_window(Lock& lock, const Worker& self) {
  const auto left = until_window(state_.setup.options, state_.setup.local_time());
  state_.pause.wait_until(lock, now() + std::min(left, kClockCheckInterval), [&] {
    return self.is_left || self.is_retired || state_.is_closing || self.stop.stop_requested();
  });
}

/// Returns whether a worker should wait for more messages (queue.mindequeuebatchsize).
bool DeliveryWorkers::wants_more(const Worker& self) const {
  const std::uint64_t waiting = state_.store->waiting();
  return waiting > 0 && waiting < state_.setup.options.min_dequeue_batch_size &&
         !state_.is_closing && !self.is_retired && !self.is_left;
}

/// Waits for enough messages or until the timeout, and then delivers the available messages.
void DeliveryWorkers::wait_for_more(Lock& lock, Worker& self) {
  ++gathering_;
  state_.pause.wait_until(lock, after(state_.setup.options.min_dequeue_batch_timeout),
                          [&] { return !wants_more(self); });
  --gathering_;
  if (!self.is_left && !self.is_retired && state_.store->waiting() > 0) deliver(lock, self);
}

/// Waits for messages. Returns false if the worker should end because it was idle for too long.
bool DeliveryWorkers::wait_for_work(Lock& lock) {
  ++idle_;
  const TimePoint end = after(state_.setup.options.timeout_worker_thread_shutdown);
  const bool is_in_time = work_.wait_until(lock, end) == std::cv_status::no_timeout;
  --idle_;
  if (woken_ > 0) --woken_;
  return is_in_time || state_.store->waiting() > 0;
}

void DeliveryWorkers::ended(Worker& self) {
  self.state = Worker::State::kEnded;
  --state_.setup.figures->workers;
  state_.quiet.notify_all();
  owner_.on_end();
}

/// Applies DELIVERY to SELF's batch. Returns whether the batch is done.
bool DeliveryWorkers::settle(Worker& self, const Delivery& delivery) {
  self.delivered += delivery.delivered;
  state_.in_flight -= delivery.delivered;
  state_.setup.figures->delivered += delivery.delivered;
  const std::size_t left = self.batch.messages.size() - self.delivered;
  state_.setup.figures->retried += left;
  return left == 0;
}

/// Puts back the messages of BATCH that follow the first DELIVERED messages. The messages that are
/// put back precede all other messages.
void DeliveryWorkers::put_back(Batch batch, std::size_t delivered) {
  if (!state_.helper) {
    state_.store->settle(std::move(batch), delivered);
    return;
  }
  // Keep these messages apart from the store, because later messages might already be on disk. At
  // shutdown, end_helper() stores these messages before the messages on disk.
  const auto rest = batch.messages.begin() + static_cast<std::ptrdiff_t>(delivered);
  std::move(rest, batch.messages.end(), std::back_inserter(state_.earlier));
}

/// Waits before the rest of SELF's batch is tried again. If the consumer has accepted nothing,
/// waits at least kMinPause, so that the consumer is not called in a busy loop. If a shutdown
/// begins during the wait, the next attempt begins immediately. WAS_CLOSING says whether the
/// shutdown had already begun before the last attempt.
void DeliveryWorkers::pause(Lock& lock, const Worker& self, const Delivery& delivery,
                            bool was_closing) {
  const milliseconds time =
      std::max(delivery.retry_after, delivery.delivered == 0 ? kMinPause : milliseconds(0));
  if (time.count() <= 0) return;
  state_.pause.wait_until(lock, after(time), [&] {
    return self.is_left || self.stop.stop_requested() ||
           (state_.is_closing && (!was_closing || self.is_retired));
  });
}

/// Discards the least severe messages of BATCH while the queue is above the discard mark. FULL is
/// the number of messages in the queue, including BATCH.
void DeliveryWorkers::discard_queued(Batch& batch, std::uint64_t full) {
  const QueueOptions& options = state_.setup.options;
  // A helper does not discard messages: its messages are on disk, and do not delay producers.
  if (options.discard_severity > kLeastSevere || state_.is_helper() || full < *options.discard_mark)
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
  state_.setup.figures->discarded_queued += count;
  state_.store->settle(std::move(dropped), count);
  state_.room.notify_all();
}

/// Delivers one batch. Messages that the consumer does not accept are put back. A retired worker
/// keeps such messages and tries again, because later messages might already be on disk.
void DeliveryWorkers::deliver(Lock& lock, Worker& self) {
  const std::uint64_t full = state_.fullness();
  self.batch = state_.store->take(state_.setup.options.dequeue_batch_size);
  self.delivered = 0;
  const bool has_any = !self.batch.empty();
  discard_queued(self.batch, full);
  if (self.batch.empty()) {
    state_.count();
    if (state_.held() == 0) state_.quiet.notify_all();
    // If messages are waiting but none was taken, the read from disk has failed. Pause before the
    // next attempt.
    if (!has_any && state_.store->waiting() > 0) state_.pause.wait_until(lock, now() + kNextTry);
    return;
  }
  state_.in_flight += self.batch.messages.size();
  state_.count();
  bool is_done = false;
  while (true) {
    self.is_consuming = true;
    const bool was_closing = state_.is_closing;
    lock.unlock();
    const Delivery delivery =
        call(state_.setup.consumer, std::span(self.batch.messages).subspan(self.delivered),
             self.stop.get_token(), state_.setup.reporter);
    lock.lock();
    self.is_consuming = false;
    if (self.is_left) return;
    is_done = settle(self, delivery);
    if (!is_done) {
      pause(lock, self, delivery, was_closing);
      if (self.is_left) return;
    }
    const bool keeps = self.is_retired && !state_.is_closing && !state_.is_helper();
    if (is_done || !keeps) break;
  }
  state_.in_flight -= self.batch.messages.size() - self.delivered;
  put_back(std::exchange(self.batch, {}), self.delivered);
  state_.count();
  state_.room.notify_all();
  if (state_.held() == 0) state_.quiet.notify_all();
  if (state_.setup.options.dequeue_slowdown.count() > 0 && !state_.is_closing) {
    state_.pause.wait_until(lock, now() + state_.setup.options.dequeue_slowdown,
                            [&] { return self.is_left || state_.is_closing || self.is_retired; });
  }
}

/// Takes back the batch of an abandoned consumer.
void DeliveryWorkers::take_back(Worker& left) {
  state_.in_flight -= left.batch.messages.size() - left.delivered;
  --state_.setup.figures->workers;
  // Copy the batch, because the consumer is still using the original.
  put_back(left.batch, left.delivered);
}

std::size_t DeliveryWorkers::stop(Lock& lock) {
  pool_.retire();
  // A producer can still add messages, but must not start a worker, because nothing would stop this
  // worker.
  pool_.set_max(0);
  work_.notify_all();
  state_.pause.notify_all();
  const auto are_gone = [this] { return pool_.alive() == 0; };
  const milliseconds timeout = state_.setup.options.timeout_action_completion;
  if (state_.quiet.wait_until(lock, after(timeout), are_gone)) return 0;
  pool_.request_stop();
  state_.pause.notify_all();
  if (state_.quiet.wait_until(lock, after(timeout), are_gone)) return 0;
  const auto left = pool_.leave_consuming();
  for (const auto& worker : left) take_back(*worker);
  // The remaining workers are idle, so they end soon.
  state_.quiet.wait(lock, are_gone);
  if (left.empty()) return 0;
  state_.report(fmt::format(
      "{} consumers did not stop in time; their messages count as undelivered", left.size()));
  return left.size();
}

}  // namespace quarry::spool
