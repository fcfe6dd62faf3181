// What the tests of whole queues share: a consumer that can be held up, a disk that can be held up
// and can refuse, and waiting for what other threads bring about.
#pragma once

#include <doctest/doctest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eventually.h"
#include "quarry/base/file_system.h"
#include "quarry/spool/queue.h"
#include "queue/engine.h"
#include "temporary_folder.h"

namespace quarry::spool {

/// "FIRST", "FIRST+1", … "LAST".
std::vector<std::string> numbers(int first, int last);
/// Messages with these for contents.
std::vector<Message> messages(int first, int last);

/// A consumer that notes what it gets. While it is closed it is held up with the batch that it has;
/// asked to stop it then gives the batch back, unless it is stubborn.
class TestConsumer {
 public:
  enum class Stop : std::uint8_t { kHeeded, kIgnored };
  explicit TestConsumer(Stop stop = Stop::kHeeded) {
    state_->ignores_stop = stop == Stop::kIgnored;
  }

  /// The consumer itself. It may outlive the object.
  Consumer function() const;

  void close();
  void open();
  /// Lets so many more batches pass while it is closed.
  void let_pass(std::size_t batches);
  /// What it does with the batches to come, first, while it is open: in their order.
  void answer(std::vector<std::function<Delivery(std::span<const Message>)>> answers);

  std::vector<std::string> got() const;
  std::vector<std::size_t> batch_sizes() const;
  /// Calls that have begun, with or without an end.
  std::size_t begun() const;
  /// Calls at the same time, at the most.
  std::size_t max_at_once() const;
  bool wait_until_got(std::size_t messages) const;
  bool wait_until_begun(std::size_t batches) const;
  /// No queue has the consumer any more, not even a thread that was left behind.
  bool wait_until_forgotten() const;

 private:
  struct State {
    mutable std::mutex mutex;
    mutable std::condition_variable_any changed;
    bool is_closed = false;
    bool ignores_stop = false;
    std::size_t passes = 0;
    std::vector<std::function<Delivery(std::span<const Message>)>> answers;
    std::vector<std::string> got;
    std::vector<std::size_t> batch_sizes;
    std::size_t begun = 0;
    std::size_t at_once = 0;
    std::size_t max_at_once = 0;

    Delivery consume(std::span<const Message> batch, const std::stop_token& stop);
    Delivery take(std::span<const Message> batch, std::unique_lock<std::mutex>& lock);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// The lines that a queue reports.
class Reports {
 public:
  Reporter function() const;
  /// How many of them have TEXT in them.
  std::size_t count(std::string_view text) const;

 private:
  struct State {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// The machine's files, but that what is done to them may be held up, or refused.
class HeldUpFiles final : public base::FileSystem {
 public:
  enum class What : std::uint8_t { kRead, kMake, kAppend, kRemove };

  /// WHAT waits until it is let go.
  void hold_up(What what);
  void let_go();
  /// Something waits.
  bool wait_until_held_up() const;
  /// WHAT is refused from now on, as it would be on a full disk.
  void refuse(What what);
  void allow();
  /// How many times something was refused.
  std::size_t refused() const;

  base::Result<std::unique_ptr<base::File>> open(const std::filesystem::path& path,
                                                 base::FileUse use) override;
  base::Result<void> rename(const std::filesystem::path& from,
                            const std::filesystem::path& to) override;
  base::Result<void> remove(const std::filesystem::path& path) override;
  base::Result<std::vector<std::string>> list(const std::filesystem::path& folder) override;
  base::Result<void> make_folder(const std::filesystem::path& folder) override;
  base::Result<void> sync_directory(const std::filesystem::path& folder) override;

  /// Called before WHAT is done.
  base::Result<void> pass(What what);

 private:
  base::FileSystem& real_ = base::FileSystem::real();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<What> held_up_;
  std::set<What> refused_;
  std::size_t waiting_ = 0;
  std::size_t refusals_ = 0;
};

/// The default options, but for what CHANGE does.
template <typename Change>
QueueOptions with(Change change) {
  QueueOptions options;
  change(options);
  return options;
}
/// Options with short ways: size 20, marks at 10 and 4, one worker, batches of one message, and
/// time-outs that no test gets to by mistake.
QueueOptions small_options();
/// The same, and its end waits for nobody.
QueueOptions hurried();
/// The same with files in FOLDER: disk-assisted.
QueueOptions disk_assisted(const TemporaryFolder& folder);

/// A started queue, and what it tells.
struct TestQueue {
  TestQueue(const QueueOptions& options, const Consumer& consumer,
            base::FileSystem& files = base::FileSystem::real());

  /// Enqueues the numbers FIRST to LAST, one by one. How many were taken.
  std::size_t put(int first, int last, Delay delay = Delay::kNone) const;
  Statistics figures() const { return queue->statistics(); }
  bool is_disk_assisted() const { return figures().is_disk_assisted; }

  Reports reports;
  std::unique_ptr<Queue> queue;
};

/// A disk-assisted queue whose inside can be looked at. Ends with the object.
struct TestEngine {
  TestEngine(const QueueOptions& options, const Consumer& consumer,
             base::FileSystem& files = base::FileSystem::real(),
             const LocalClock& clock = local_time);
  ~TestEngine();
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  std::size_t put(int first, int last) const;
  bool wait_until_at(ShufflerState state) const;

  Reports reports;
  std::shared_ptr<Figures> figures = std::make_shared<Figures>();
  std::shared_ptr<Engine> engine;
};

/// Gives CONSUMER, which is closed, message 1 of QUEUE (TestQueue, TestEngine): it is held up with
/// that.
template <typename Queue>
void hold_first(const Queue& queue, const TestConsumer& consumer) {
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_begun(1));
}

/// The names in FOLDER, without those of locks.
std::vector<std::string> files_in(const TemporaryFolder& folder);
/// Leaves the numbers FIRST to LAST in OPTIONS' files. How many were saved.
std::uint64_t leave_on_disk(const QueueOptions& options, int first, int last);
/// Delivers everything that OPTIONS' files have, and returns it.
std::vector<std::string> rest_of(QueueOptions options);

}  // namespace quarry::spool
