// Delivers events to the webhooks that repositories contain. Each delivery has a thread of its own.
//
// A receiver that is slow or down must not delay others. Therefore, only one event at a time is
// delivered to a webhook, and only a few to the webhooks of a repository. After a failure, the
// webhook pauses, and its events wait in the stream. An event that cannot be delivered for some
// hours is dropped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "quarry/courier/address_rules.h"
#include "quarry/courier/options.h"
#include "quarry/event/event.h"
#include "quarry/spool/subscription.h"
#include "senders/sender.h"

namespace quarry::courier {

class RepositoryWebhooks {
 public:
  /// Arguments are not owned, except SUBSCRIPTION.
  RepositoryWebhooks(const CourierOptions& courier,
                     std::shared_ptr<spool::Subscription> subscription, Interrupted is_interrupted);
  /// Waits for the deliveries.
  ~RepositoryWebhooks();
  RepositoryWebhooks(const RepositoryWebhooks&) = delete;
  RepositoryWebhooks& operator=(const RepositoryWebhooks&) = delete;

  /// Starts the delivery of MESSAGE, or postpones it. The message is settled in either case.
  void deliver(const spool::StreamedMessage& message);

 private:
  using Clock = std::chrono::steady_clock;
  struct Receiver {
    bool is_busy = false;
    unsigned failures = 0;  // number of consecutive failures
    Clock::time_point paused_until = {};
  };
  struct Job {
    spool::StreamedMessage message;
    event::Event event;  // contains a RepositoryWebhook
    std::string repository;
    std::string receiver;  // key in receivers_
  };

  /// Returns how long the event of JOB has to wait, or zero after reserving the receiver.
  std::chrono::milliseconds enter(const Job& job);
  void run(const Job& job);
  void record(const Job& job, const DeliveryResult& result, Clock::time_point begin);
  DeliveryResult attempt(const Job& job) const;
  /// Records RESULT, releases the receiver and returns how to settle the message.
  spool::Settlement leave(const Job& job, const DeliveryResult& result);
  void settle(const spool::Settlement& settlement);

  AddressRules rules_;
  std::shared_ptr<spool::Subscription> subscription_;
  Interrupted is_interrupted_;
  std::mutex mutex_;
  DeliveryLog deliveries_;
  std::condition_variable ended_;
  unsigned in_flight_ = 0;
  std::map<std::string, unsigned> in_flight_of_;  // by repository
  std::map<std::string, Receiver> receivers_;     // busy, or with failures
};

}  // namespace quarry::courier
