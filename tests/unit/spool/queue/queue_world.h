// Shared by the tests of whole queues: a consumer and a disk that can be blocked, a disk that can
// fail, and waiting for other threads.
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
/// Messages with these contents.
std::vector<Message> messages(int first, int last);

/// Records what it gets. While it is closed it blocks with its batch; asked to stop, it gives the
/// batch back, unless it is stubborn.
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
  /// Lets this many more batches pass while it is closed.
  void let_pass(std::size_t batches);
  /// The results for the next batches while it is open, in order.
  void answer(std::vector<std::function<Delivery(std::span<const Message>)>> answers);

  std::vector<std::string> got() const;
  std::vector<std::size_t> batch_sizes() const;
  /// Calls that have begun, ended or not.
  std::size_t begun() const;
  /// Maximum number of concurrent calls.
  std::size_t max_at_once() const;
  bool wait_until_got(std::size_t messages) const;
  bool wait_until_begun(std::size_t batches) const;
  /// No queue uses the consumer any more, not even an abandoned thread.
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

/// The machine's files, but operations can be blocked, or made to fail.
class HeldUpFiles final : public base::FileSystem {
 public:
  enum class What : std::uint8_t { kRead, kMake, kAppend, kRemove };

  /// Blocks WHAT until it is released.
  void hold_up(What what);
  void let_go();
  /// Whether an operation is blocked.
  bool wait_until_held_up() const;
  /// Lets WHAT fail from now on, as on a full disk.
  void refuse(What what);
  void allow();
  /// The number of operations that failed.
  std::size_t refused() const;

  base::Result<std::unique_ptr<base::File>> open(const std::filesystem::path& path,
                                                 base::FileUse use) override;
  base::Result<void> rename(const std::filesystem::path& from,
                            const std::filesystem::path& to) override;
  base::Result<void> remove(const std::filesystem::path& path) override;
  base::Result<std::vector<std::string>> list(const std::filesystem::path& folder) override;
  base::Result<void> make_folder(const std::filesystem::path& folder) override;
  base::Result<void> sync_directory(const std::filesystem::path& folder) override;

  /// Called before WHAT.
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

/// The default options, modified by CHANGE.
template <typename Change>
QueueOptions with(Change change) {
  QueueOptions options;
  change(options);
  return options;
}
/// Options for short tests: size 20, marks at 10 and 4, one worker, batches of one message, and
/// timeouts that no test reaches by mistake.
QueueOptions small_options();
/// The same, but shutdown waits for nothing.
QueueOptions hurried();
/// The same with files in FOLDER: disk-assisted.
QueueOptions disk_assisted(const TemporaryFolder& folder);

/// A started queue, and its reports.
struct TestQueue {
  TestQueue(const QueueOptions& options, const Consumer& consumer,
            base::FileSystem& files = base::FileSystem::real());

  /// Enqueues the numbers FIRST to LAST, one by one. Returns how many were accepted.
  std::size_t put(int first, int last, Delay delay = Delay::kNone) const;
  Statistics figures() const { return queue->statistics(); }
  bool is_disk_assisted() const { return figures().is_disk_assisted; }

  Reports reports;
  std::unique_ptr<Queue> queue;
};

/// A disk-assisted queue with access to its internals. Ends with the object.
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

/// Gives CONSUMER, which is closed, message 1 of QUEUE (TestQueue, TestEngine), so that it blocks.
template <typename Queue>
void hold_first(const Queue& queue, const TestConsumer& consumer) {
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_begun(1));
}

/// The names of the files in FOLDER, except locks.
std::vector<std::string> files_in(const TemporaryFolder& folder);
/// Saves the numbers FIRST to LAST in OPTIONS' files. Returns how many were saved.
std::uint64_t leave_on_disk(const QueueOptions& options, int first, int last);
/// Delivers and returns everything in OPTIONS' files.
std::vector<std::string> rest_of(QueueOptions options);

}  // namespace quarry::spool
