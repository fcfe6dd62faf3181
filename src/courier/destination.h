// A destination: a thread that takes events from the stream, delivers them, and settles them. A
// slow destination does not delay other destinations.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "quarry/courier/deliveries.h"
#include "quarry/courier/options.h"
#include "quarry/event/event.h"
#include "quarry/spool/stream.h"
#include "repository_webhooks.h"
#include "senders/sender.h"

namespace quarry::courier {

/// Returns the subscription options for a destination.
spool::SubscriptionOptions subscription_options(const DestinationOptions& options);

class Destination {
 public:
  /// Creates a destination. COURIER is not owned.
  Destination(const CourierOptions& courier, DestinationOptions options,
              std::shared_ptr<spool::Subscription> subscription);
  /// Stops immediately.
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  void start();
  /// Reopens files before the next delivery.
  void reopen();
  /// Stops taking events. In-flight deliveries continue until interrupt() is called.
  void stop();
  void interrupt();
  bool has_ended() const { return has_ended_; }
  /// Returns whether a delivery can take seconds to stop, because it starts programs or waits for
  /// receivers that are not trusted.
  bool ends_slowly() const;
  /// Returns whether the current delivery began before TIME.
  bool is_delivering_since_before(std::chrono::steady_clock::time_point time) const {
    return delivering_since_.load() < time;
  }

 private:
  using Messages = std::vector<spool::StreamedMessage>;

  void run();
  bool make_sender();
  /// Waits for messages and returns them. Returns an empty list if the state of the destination
  /// might have changed.
  Messages next();
  void deliver_all(const Messages& messages);
  spool::Settlement deliver(const spool::StreamedMessage& message);
  /// Delivers MESSAGE, which contains EVENT, and records the result.
  DeliveryResult attempt(const spool::StreamedMessage& message, const event::Event& event);
  /// Handles a `redeliver` event, which MESSAGE contains: delivers the recorded event ID again.
  DeliveryResult redeliver(const spool::StreamedMessage& message, std::uint64_t id);
  void record(const spool::StreamedMessage& message, const event::Event& event,
              const DeliveryResult& result, std::chrono::steady_clock::time_point begin);
  /// Handles a `replay` event, which MESSAGE contains: puts the dead letters back into the queue.
  spool::Settlement replay(const spool::StreamedMessage& message);
  void log_outcome(const spool::StreamedMessage& message, const spool::Settlement& settlement);
  void settle(std::vector<spool::Settlement>& settlements);
  /// Sleeps, unless the destination is stopping.
  void pause(std::chrono::milliseconds time);

  const CourierOptions& courier_;
  DestinationOptions options_;
  std::shared_ptr<spool::Subscription> subscription_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<RepositoryWebhooks> webhooks_;  // used instead of a sender
  DeliveryLog deliveries_;
  bool is_recording_failed_ = false;
  std::uint64_t failures_ = 0;  // number of consecutive failures
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_interrupted_{false};
  std::atomic<bool> wants_reopening_{false};
  std::atomic<bool> has_ended_{false};
  /// Begin of the current delivery, or max() between deliveries.
  std::atomic<std::chrono::steady_clock::time_point> delivering_since_{
      std::chrono::steady_clock::time_point::max()};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace quarry::courier
