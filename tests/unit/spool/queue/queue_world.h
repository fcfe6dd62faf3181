// Helpers for tests of whole queues: a consumer that can be blocked, a file system that can be
// blocked or fail, and functions that wait for other threads.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "eventually.h"
#include "quarry/base/file_system.h"
#include "quarry/spool/queue.h"
#include "queue/engine.h"
#include "temporary_folder.h"

namespace quarry::spool {

/// Returns the numbers FIRST to LAST as text.
std::vector<std::string> numbers(int first, int last);
/// Returns messages with the contents FIRST to LAST.
std::vector<Message> messages(int first, int last);

/// A consumer that records its messages. After close(), each call blocks until open() or let_pass()
/// is called. Unless Stop::kIgnored is set, a call that is told to stop returns without accepting
/// its batch.
class TestConsumer {
 public:
  enum class Stop : std::uint8_t { kHeeded, kIgnored };
  explicit TestConsumer(Stop stop = Stop::kHeeded) {
    state_->ignores_stop = stop == Stop::kIgnored;
  }

  /// Returns the consumer function, which can outlive this object.
  Consumer function() const {
    return [state = state_](std::span<const Message> batch, const std::stop_token& stop) {
      return state->consume(batch, stop);
    };
  }

  void close() {
    change([](State& state) { state.is_closed = true; });
  }
  void open() {
    change([](State& state) { state.is_closed = false; });
  }
  /// Lets BATCHES blocked or future calls continue although the consumer is closed.
  void let_pass(std::size_t batches) {
    change([&](State& state) { state.passes += batches; });
  }
  /// A function that computes the result of one call. answer() sets these functions for the next
  /// calls.
  using Answer = std::function<Delivery(std::span<const Message>)>;
  void answer(const std::vector<Answer>& answers) {
    change([&](State& state) { state.answers.assign(answers.begin(), answers.end()); });
  }

  std::vector<std::string> got() const { return read(&State::got); }
  std::vector<std::size_t> batch_sizes() const { return read(&State::batch_sizes); }
  /// Returns the number of calls so far, including calls that have not returned.
  std::size_t begun() const { return batch_sizes().size(); }
  /// Returns the maximum number of concurrent calls.
  std::size_t max_at_once() const { return read(&State::max_at_once); }
  bool wait_until_got(std::size_t messages) const {
    return wait([&] { return state_->got.size() >= messages; });
  }
  bool wait_until_begun(std::size_t batches) const {
    return wait([&] { return state_->batch_sizes.size() >= batches; });
  }
  /// Waits until the consumer function is no longer used by a queue or an abandoned thread. Returns
  /// false after kPatience.
  bool wait_until_forgotten() const {
    return eventually([&] { return state_.use_count() == 1; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool is_closed = false;
    bool ignores_stop = false;
    std::size_t passes = 0;
    std::deque<Answer> answers;
    std::vector<std::string> got;
    std::vector<std::size_t> batch_sizes;
    std::size_t at_once = 0;
    std::size_t max_at_once = 0;

    Delivery consume(std::span<const Message> batch, const std::stop_token& stop);
  };
  void change(const auto& what) {
    const std::lock_guard lock(state_->mutex);
    what(*state_);
    state_->changed.notify_all();
  }
  template <typename Member>
  Member read(Member State::*member) const {
    const std::lock_guard lock(state_->mutex);
    return (*state_).*member;
  }
  bool wait(const auto& is_so) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, kPatienceTime, is_so);
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Records the lines that a queue reports.
class Reports {
 public:
  Reporter function() const {
    return [state = state_](const std::string& line) {
      const std::lock_guard lock(state->mutex);
      state->lines.push_back(line);
    };
  }
  /// Returns the number of lines that contain TEXT.
  std::size_t count(std::string_view text) const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<std::size_t>(std::ranges::count_if(
        state_->lines, [&](const std::string& line) { return line.contains(text); }));
  }

 private:
  struct State {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A real file system whose operations can be blocked, or made to fail.
class FaultyFiles : public base::FileSystem {
 public:
  enum class Operation : std::uint8_t { kRead, kMake, kAppend, kRemove };

  /// Blocks every OPERATION until unblock() is called.
  void block(Operation operation) {
    const std::lock_guard lock(mutex_);
    blocked_.insert(operation);
  }
  void unblock() {
    const std::lock_guard lock(mutex_);
    blocked_.clear();
    changed_.notify_all();
  }
  /// Waits until an operation is blocked. Returns false after kPatience.
  bool wait_until_blocked() const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatienceTime, [&] { return waiting_ > 0; });
  }
  /// Makes every OPERATION fail until repair() is called.
  void fail(Operation operation) {
    const std::lock_guard lock(mutex_);
    failing_.insert(operation);
  }
  void repair() {
    const std::lock_guard lock(mutex_);
    failing_.clear();
  }
  /// Returns the number of failed operations.
  std::size_t failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

  Result<std::unique_ptr<base::File>> open(const std::filesystem::path& path,
                                           base::FileUse use) override;
  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return real_.rename(from, to);
  }
  Result<void> remove(const std::filesystem::path& path) override {
    QUARRY_TRY(pass(Operation::kRemove));
    return real_.remove(path);
  }
  Result<std::vector<std::string>> list(const std::filesystem::path& folder) override {
    QUARRY_TRY(pass(Operation::kRead));
    return real_.list(folder);
  }
  Result<void> make_folder(const std::filesystem::path& folder) override {
    return real_.make_folder(folder);
  }
  Result<void> sync_directory(const std::filesystem::path& folder) override {
    return real_.sync_directory(folder);
  }

  /// Blocks or fails if the test has requested this for OPERATION. Called before each operation.
  Result<void> pass(Operation operation);

 private:
  base::FileSystem& real_ = base::FileSystem::real();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<Operation> blocked_;
  std::set<Operation> failing_;
  std::size_t waiting_ = 0;
  std::size_t failures_ = 0;
};

/// Returns options for short tests: size 20, watermarks 10 and 4, one worker, batches of one
/// message, and long timeouts.
QueueOptions small_options();
/// Returns small_options() with a shutdown that does not wait.
QueueOptions hurried();
/// Returns small_options() for a disk-assisted queue with files in FOLDER.
QueueOptions disk_assisted(const TemporaryFolder& folder);

/// Returns the names of the files in FOLDER, without lock files.
std::vector<std::string> files_in(const TemporaryFolder& folder);
/// Saves messages with the numbers FIRST to LAST in the files of OPTIONS. Returns the number of
/// saved messages.
std::uint64_t leave_on_disk(const QueueOptions& options, int first, int last);
/// Delivers all messages in the files of OPTIONS and returns their contents.
std::vector<std::string> rest_of(QueueOptions options);

/// A running queue and its reports.
struct TestQueue {
  TestQueue(const QueueOptions& options, const Consumer& consumer,
            base::FileSystem& files = base::FileSystem::real());

  /// Enqueues the numbers FIRST to LAST one by one. Returns the number of accepted messages.
  std::size_t put(int first, int last, Delay delay = Delay::kNone) const;
  /// Enqueues MESSAGES in one call. Returns the number of accepted messages. If not all are
  /// accepted, sets *error.
  std::size_t put(std::span<Message> messages, Error* error = nullptr) const {
    Error ignored;
    return queue->enqueue(messages, Delay::kNone, error != nullptr ? error : &ignored);
  }
  Statistics figures() const { return queue->statistics(); }
  bool becomes_empty() const { return queue->wait_until_empty(kPatienceTime); }

  Reports reports;
  std::unique_ptr<Queue> queue;
};

/// A disk-assisted queue whose internals a test can read. The destructor shuts it down.
struct TestEngine {
  TestEngine(const QueueOptions& options, const Consumer& consumer,
             base::FileSystem& files = base::FileSystem::real(),
             const std::function<std::tm()>& clock = local_time);
  ~TestEngine();
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  std::size_t put(int first, int last) const;
  bool wait_until_at(ShufflerState state) const;

  Reports reports;
  std::shared_ptr<Figures> figures = std::make_shared<Figures>();
  std::shared_ptr<Engine> engine;
};

/// A folder, options for a disk-assisted queue in it, a file system that can be blocked, and a
/// consumer whose calls block at first (see TestConsumer).
struct QueueWorld {
  QueueWorld() { consumer.close(); }
  TestQueue start() { return {options, consumer.function(), files}; }
  TestEngine start_engine() { return {options, consumer.function(), files}; }
  /// Shortens the shutdown timeouts to 10 ms.
  void hurry() { options.timeout_shutdown = options.timeout_action_completion = milliseconds(10); }
  void add_workers(std::size_t count) {
    options.worker_threads = count;
    options.worker_thread_minimum_messages = 1;
  }
  /// Returns true if a new process delivers exactly the numbers FIRST to LAST.
  bool rest_is(int first, int last) const { return rest_of(options) == numbers(first, last); }

  TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  FaultyFiles files;
  TestConsumer consumer;
};
/// A QueueWorld for a disk queue.
struct DiskWorld : QueueWorld {
  DiskWorld() { options.type = QueueType::kDisk; }
};
/// A QueueWorld for a queue in memory that shuts down without waiting.
struct MemoryWorld : QueueWorld {
  MemoryWorld() { options = hurried(); }
};

/// Enqueues message 1 in QUEUE and waits until a call of CONSUMER blocks with this message.
template <typename Queue>
void hold_first(const Queue& queue, const TestConsumer& consumer) {
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_begun(1));
}

}  // namespace quarry::spool
