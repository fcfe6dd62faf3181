// A subscription: its state (subscription_state.h), journal, message source and dead letters, under
// one mutex. A change is written to the journal first. Then the change is applied to the state and
// becomes visible to callers.
//
//   take()    messages in flight  ─┬─ events ─ commit(): journal, then state, then remove segments
//   settle()  done, retry, …      ─┘
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dead_letters.h"
#include "journal.h"
#include "message_source.h"
#include "quarry/base/result.h"
#include "quarry/spool/subscription.h"
#include "stream_log.h"
#include "subscription_state.h"
#include "threading.h"

namespace quarry::spool {

/// An event count. A thread can check several conditions and then wait for an event, without
/// missing an event in between.
class EventCount {
 public:
  void notify() {
    const Lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  /// Returns the current number of events. A thread calls count() before it checks the conditions.
  std::uint64_t count() const {
    const Lock lock(mutex_);
    return count_;
  }
  /// Waits until count() differs from BEFORE, or until UNTIL.
  void wait(std::uint64_t before, TimePoint until) {
    Lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return count_ != before; });
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t count_ = 0;
};

class SubscriptionCore final : public Subscription {
 public:
  struct Setup {
    std::string name;
    StreamLog& log;  // not owned; outlives this object
    Reporter reporter;
    StreamEnvironment environment;
    SubscriptionState state;
    std::unique_ptr<Journal> journal;
    std::unique_ptr<DeadLetters> dead;
  };
  explicit SubscriptionCore(Setup setup);

  const std::string& name() const override { return setup_.name; }
  Result<std::vector<StreamedMessage>> take(std::size_t max) override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  bool wait(milliseconds max) override;
  void wake() override;
  SubscriptionStatistics statistics() override;
  Result<std::uint64_t> replay_dead() override;
  Result<std::uint64_t> purge_dead() override;

  void set_options(const SubscriptionOptions& options);
  /// Wakes waiting threads after an append.
  void notify() { changed_.notify(); }
  /// Marks in-flight messages as returned, so that they will be taken again, and closes the files.
  /// All further calls fail.
  void close();
  /// Removes the files. All further calls fail.
  Result<void> remove();
  /// Moves the waiting messages to KEPT, and removes all files except the dead letters. All further
  /// calls fail.
  Result<void> retire(DeadLetters& kept);
  /// Returns the messages in KEPT to the subscription, and removes the files of KEPT.
  Result<void> restore(DeadLetters& kept);

 private:
  class SettleCall;  // implements settle()

  Result<void> check_open() const;
  std::int64_t now() const { return setup_.environment.clock.now().value; }
  bool may_take() const;
  bool has_due() const { return !state_.due(now(), 1, options_.in_order).empty(); }
  bool is_ready() const;
  std::size_t room() const;
  Result<void> take_due(std::size_t max, std::vector<StreamedMessage>& taken);
  Result<void> give_up_exhausted(std::vector<std::uint64_t>& due);
  Result<void> take_fresh(std::size_t max, std::vector<StreamedMessage>& taken);
  Result<void> pass_on(std::uint64_t end);
  Result<void> commit(std::span<const Event> events, bool sync);
  void publish_floor();
  void close_files();
  Result<void> remove_journal();
  Result<std::uint64_t> append_again(DeadLetters& letters);
  Result<std::optional<StreamedMessage>> find(std::uint64_t sequence);

  Setup setup_;
  Mutex mutex_;
  SubscriptionOptions options_;
  SubscriptionState state_;
  MessageSource source_;
  bool is_at_read_ = false;   // source_ is at the read position
  bool is_journaled_ = true;  // the journal has the read position
  std::uint64_t floor_ = 0;   // the value last passed to the log
  /// The sequence number and the time of the first waiting message, for statistics().
  std::optional<std::pair<std::uint64_t, base::UnixMillis>> head_;
  bool is_closed_ = false;
  EventCount changed_;  // messages can be taken, or the subscription has ended
  std::atomic<bool> is_woken_{false};
};

}  // namespace quarry::spool
