// Tests the disk-assisted mode, as described in rsyslog's documentation ("The rsyslog queue
// object"). In this mode, a DA worker moves messages from memory to the disk.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

std::uint64_t count(int messages) {
  return static_cast<std::uint64_t>(messages);
}

bool is_over(const TestEngine& queue) {
  return eventually([&] { return !queue.figures->is_disk_assisted; });
}

struct AssistedWorld : QueueWorld {
  /// Enqueues message 1, on which the consumer blocks. Then enqueues numbers until the DA worker
  /// has moved messages to the disk and only four are left in memory. Returns the last number.
  int put_until_held(const TestEngine& queue) const {
    hold_first(queue, consumer);
    int last = 1;
    while (queue.figures->da_runs == 0 && queue.put(last + 1, last + 1) == 1) ++last;
    REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
    return last;
  }
  /// Leaves only a position file, as a killed process with an empty queue does.
  void leave_position_alone() const {
    const SpoolFiles spool(quarry::base::FileSystem::real(), options.spool_directory,
                           options.filename, false);
    REQUIRE(spool.write_position(
        {.segment = 1, .offset = kSegmentHeader, .sequence = std::uint64_t{7} << 40}));
  }
  /// Starts a queue with messages 1 to 3 on the disk. Its DA worker stops as soon as it is idle.
  TestEngine with_inactive_worker() {
    REQUIRE(leave_on_disk(options, 1, 3) == 3);
    options.timeout_worker_thread_shutdown = 0ms;
    return start_engine();
  }
  static std::size_t times_made(const TestEngine& queue) {
    return queue.reports.count("waiting for delivery");
  }
  static void wait_until_inactive(const TestEngine& queue) {
    REQUIRE(eventually([&] { return times_made(queue) == 1; }));
    REQUIRE(queue.wait_until_at(ShufflerState::kNone));
  }
  /// Opens the consumer, and checks that it receives the messages 1 to LAST.
  void check_all(int last) {
    consumer.open();
    CHECK(consumer.wait_until_got(count(last)));
    CHECK(consumer.got() == numbers(1, last));
  }
};

/// A queue that saves its messages at shutdown. A blocked call of the consumer has 20 ms to stop.
struct SavingWorld : AssistedWorld {
  SavingWorld() {
    options.save_on_shutdown = true;
    options.timeout_action_completion = 20ms;
  }
};

}  // namespace

TEST_CASE_FIXTURE(AssistedWorld,
                  "until the high water mark is reached the queue is a regular memory queue") {
  const TestEngine queue = start_engine();
  CHECK(queue.put(1, 9) == 9);
  CHECK(queue.figures->size == 9);
  CHECK(files_in(folder).empty());
  check_all(9);
  CHECK(queue.figures->da_runs == 0);
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "case 1: when the high water mark is hit the regular workers are retired and the "
                  "DA worker is initiated") {
  const TestEngine queue = start_engine();
  const int last = put_until_held(queue);
  CHECK(queue.figures->is_disk_assisted);
  CHECK(queue.figures->high_watermark_hits == 1);
  // Four messages wait in memory, and the regular worker is delivering message 1.
  CHECK(queue.figures->size == 5);
  CHECK(queue.figures->on_disk == count(last - 5));
  CHECK(queue.figures->workers == 1);
  // When the consumer has accepted message 1, the regular worker stops instead of taking another
  // message from memory.
  consumer.let_pass(2);
  REQUIRE(consumer.wait_until_begun(3));
  CHECK(consumer.got() == numbers(1, 2));
  CHECK(queue.figures->size == 4);
  CHECK(queue.figures->on_disk == count(last - 6));
  CHECK(queue.figures->workers == 1);
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtLowWatermark);
  check_all(last);
}

TEST_CASE_FIXTURE(
    AssistedWorld,
    "long messages go to the disk before they fill the memory, and in small batches") {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  constexpr std::size_t kCount = 100;
  options = disk_assisted(folder);
  options.size = 10'000;
  options.high_watermark = options.low_watermark = std::nullopt;
  options.dequeue_batch_size = 512;
  options = *complete(options);
  const TestEngine queue = start_engine();
  for (std::size_t i = 0; i < kCount; ++i) {
    Message message{.content = std::string(kLong, static_cast<char>('A' + i % 26))};
    quarry::base::Error error;
    REQUIRE(queue.engine->enqueue({&message, 1}, Delay::kNone, &error) == 1);
  }
  // Batches of a worker and of the shuffler are also in memory.
  CHECK(queue.figures->max_size <= kMaxMemory / kLong + 18);
  CHECK(queue.figures->on_disk > 0);
  consumer.open();
  CHECK(consumer.wait_until_got(kCount));
  CHECK(std::ranges::max(consumer.batch_sizes()) <= 9);
}

TEST_CASE_FIXTURE(
    AssistedWorld,
    "case 1: regular workers together with those of the DA queue are never too many") {
  options.size = 100;
  add_workers(3);
  const TestEngine queue = start_engine();
  REQUIRE(queue.put(1, 60) == 60);
  REQUIRE(consumer.wait_until_begun(3));
  REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  // A worker of the memory queue stops, so a worker of the disk queue can start.
  consumer.let_pass(1);
  REQUIRE(consumer.wait_until_begun(4));
  consumer.open();
  CHECK(consumer.wait_until_got(60));
  CHECK(consumer.max_at_once() == 3);
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "case 2: with data on the disk at startup the worker pool is not started, the DA "
                  "worker is initiated") {
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  const TestEngine queue = start_engine();
  CHECK(queue.figures->is_disk_assisted);
  REQUIRE(consumer.wait_until_begun(1));
  // The DA worker waits because the queue in memory is empty.
  CHECK(queue.wait_until_at(ShufflerState::kOnEmptyQueue));
  CHECK(queue.put(4, 6) == 3);
  CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  CHECK(queue.figures->size == 3);
  CHECK(queue.figures->workers == 1);
  CHECK(queue.figures->da_runs == 1);
  check_all(6);
  CHECK(is_over(queue));
}

TEST_CASE_FIXTURE(SavingWorld, "presence of QI file indicates presence of queue data") {
  const auto is_there = [&] { return std::filesystem::exists(folder / "q.qi"); };
  {
    const TestQueue queue = start();
    REQUIRE(queue.put(1, 3) == 3);
    REQUIRE(queue.queue->shutdown().saved == 3);
  }
  CHECK(is_there());
  CHECK(rest_is(1, 3));
  CHECK_FALSE(is_there());
  CHECK(start_engine().figures->da_runs == 0);
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "the DA worker initializes DA mode only if it is not initialized already") {
  const TestEngine queue = with_inactive_worker();
  wait_until_inactive(queue);
  REQUIRE(queue.put(4, 4) == 1);
  CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  CHECK(times_made(queue) == 1);
  CHECK(queue.figures->da_runs == 1);
  check_all(4);
}

TEST_CASE_FIXTURE(
    AssistedWorld,
    "the low water mark holds processing until the high water mark is reached again") {
  const TestEngine queue = start_engine();
  const int last = put_until_held(queue);
  REQUIRE(queue.put(last + 1, last + 3) == 3);
  CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  CHECK(queue.figures->on_disk == count(last - 5));
  CHECK(queue.figures->size == 8);
  CHECK(queue.figures->high_watermark_hits == 1);
  int next = last + 3;
  while (queue.figures->high_watermark_hits == 1 && queue.put(next + 1, next + 1) == 1) ++next;
  CHECK(eventually([&] { return queue.figures->size == 5; }));
  CHECK(queue.figures->on_disk == count(next - 5));
  CHECK(queue.figures->high_watermark_hits == 2);
  CHECK(queue.figures->da_runs == 1);
  check_all(next);
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "the low water mark holds processing until the DA queue indicates it is empty") {
  const TestEngine queue = start_engine();
  const int last = put_until_held(queue);
  // The messages on the disk are delivered, except for the last one.
  consumer.let_pass(count(last - 5));
  REQUIRE(consumer.wait_until_begun(count(last - 4)));
  CHECK(queue.figures->size == 4);
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtLowWatermark);
  consumer.let_pass(1);
  // The regular worker has resumed.
  CHECK(is_over(queue));
  REQUIRE(consumer.wait_until_begun(count(last - 3)));
  CHECK(consumer.got() == numbers(1, last - 4));
  check_all(last);
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "if it switches back, the DA queue is destructed and the regular pool is "
                  "restarted; the whole thing iterates once the high water mark is hit again") {
  const TestEngine queue = start_engine();
  int last = 0;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    consumer.close();
    REQUIRE(queue.put(last + 1, last + 15) == 15);
    CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
    CHECK_FALSE(files_in(folder).empty());
    consumer.open();
    CHECK(is_over(queue));
    CHECK(queue.engine->wait_until_empty(kPatienceTime));
    CHECK(files_in(folder).empty());
    CHECK(queue.figures->on_disk == 0);
    CHECK(queue.figures->disk_bytes == 0);
    last += 16;
    REQUIRE(queue.put(last, last) == 1);
    CHECK(consumer.wait_until_got(count(last)));
    CHECK(files_in(folder).empty());
    CHECK(queue.figures->da_runs == round);
  }
  CHECK(consumer.got() == numbers(1, 48));
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "it is vital that DA run mode termination checks be done in the DA worker before "
                  "it goes into any wait condition: on an empty queue") {
  leave_position_alone();
  // The disk queue is empty from the start, so its worker never notifies the DA worker.
  const TestEngine queue = start_engine();
  CHECK(is_over(queue));
  CHECK(queue.figures->da_runs == 1);
  CHECK(files_in(folder).empty());
}

TEST_CASE_FIXTURE(AssistedWorld,
                  "it is vital that DA run mode termination checks be done in the DA worker before "
                  "it goes into any wait condition: at the low water mark") {
  leave_position_alone();
  files.block(FaultyFiles::Operation::kRead);
  consumer.open();
  const TestEngine queue = start_engine();
  REQUIRE(files.wait_until_blocked());
  // The DA worker notices the end of the disk-assisted mode before it waits. Otherwise these few
  // messages would stay in memory below the low watermark.
  CHECK(queue.put(1, 3) == 3);
  CHECK(consumer.begun() == 0);
  files.unblock();
  check_all(3);
  CHECK(is_over(queue));
}

TEST_CASE_FIXTURE(AssistedWorld, "the DA worker may also not wait at all") {
  const TestEngine queue = start_engine();
  hold_first(queue, consumer);
  files.block(FaultyFiles::Operation::kAppend);
  REQUIRE(queue.put(2, 12) == 11);
  REQUIRE(files.wait_until_blocked());
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtWork);
  // Producers do not wait for the blocked DA worker.
  CHECK(queue.put(13, 15) == 3);
  consumer.open();
  CHECK(consumer.wait_until_got(1));
  files.unblock();
  check_all(15);
}

TEST_CASE_FIXTURE(
    AssistedWorld,
    "the DA worker may be inactive: the DA queue's worker initiates it once it is empty") {
  const TestEngine queue = with_inactive_worker();
  wait_until_inactive(queue);
  CHECK(queue.figures->is_disk_assisted);
  // The disk-assisted mode ends although no message arrives.
  consumer.open();
  CHECK(is_over(queue));
  CHECK(consumer.got() == numbers(1, 3));
  CHECK(files_in(folder).empty());
}

// --- the end ----------------------------------------------------------------------------------

TEST_CASE("case 3: at shutdown all in-memory data is persisted, and nothing consumed") {
  // At shutdown the high watermark becomes 1, so a single message is also saved.
  for (const int messages : {1, 5}) {
    SavingWorld world;
    // Without save_on_shutdown, messages are also saved, but only until timeout_shutdown expires.
    world.options.save_on_shutdown = messages == 1;
    {
      const TestQueue queue = world.start();
      hold_first(queue, world.consumer);
      REQUIRE(queue.put(2, messages) == count(messages - 1));
      const Ending ending = queue.queue->shutdown();
      CHECK(ending.saved == count(messages));
      CHECK(ending.lost == 0);
      CHECK(queue.figures().da_runs == 1);
      CHECK(queue.figures().on_disk == count(messages));
      CHECK(queue.figures().size == 0);
      CHECK(queue.figures().workers == 0);
    }
    CHECK(world.consumer.begun() == 1);
    CHECK(world.consumer.got().empty());
    CHECK(std::filesystem::exists(world.folder / "q.qi"));
    CHECK(world.rest_is(1, messages));
  }
}

TEST_CASE_FIXTURE(SavingWorld,
                  "at destruction the low water mark is 0: what it held gets to the disk") {
  int last = 0;
  {
    const TestEngine queue = start_engine();
    last = put_until_held(queue);
    const Ending ending = queue.engine->shut_down();
    CHECK(ending.saved == count(last));
    CHECK(ending.lost == 0);
    CHECK_FALSE(queue.figures->is_disk_assisted);
    CHECK(queue.engine->shut_down().saved == count(last));
  }
  // The saved order is: the worker's message, the messages on the disk, the messages in memory.
  CHECK(consumer.begun() == 1);
  CHECK(rest_is(1, last));
}

TEST_CASE_FIXTURE(
    SavingWorld,
    "at destruction the DA queue runs in enqueue-only mode: its worker begins nothing more") {
  REQUIRE(leave_on_disk(options, 1, 5) == 5);
  {
    const TestEngine queue = start_engine();
    REQUIRE(consumer.wait_until_begun(1));
    REQUIRE(queue.put(6, 8) == 3);
    CHECK(queue.engine->shut_down().saved == 8);
  }
  CHECK(consumer.begun() == 1);
  CHECK(rest_is(1, 8));
}

TEST_CASE_FIXTURE(SavingWorld,
                  "a consumer that completes within its time-out at the end has delivered") {
  options.timeout_action_completion = 5s;
  {
    const TestQueue queue = start();
    hold_first(queue, consumer);
    REQUIRE(queue.put(2, 5) == 4);
    auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
    // The shutdown has begun when the queue rejects messages.
    REQUIRE(eventually([&] { return queue.put(6, 6) == 0; }));
    consumer.open();
    CHECK(ending.get().saved >= 4);
  }
  std::vector<std::string> all = consumer.got();
  for (const std::string& one : rest_of(options)) all.push_back(one);
  all.erase(std::remove(all.begin() + 5, all.end(), "6"), all.end());
  CHECK(consumer.begun() == 1);
  CHECK(all == numbers(1, 5));
}

TEST_CASE_FIXTURE(SavingWorld, "configured to persist messages, the shutdown time-out is eternal") {
  options.timeout_shutdown = 0ms;
  {
    const TestQueue queue = start();
    REQUIRE(queue.put(1, 5) == 5);
    files.block(FaultyFiles::Operation::kMake);
    auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
    REQUIRE(files.wait_until_blocked());
    CHECK(ending.wait_for(50ms) == std::future_status::timeout);
    files.unblock();
    CHECK(ending.get().saved == 5);
  }
  CHECK(rest_is(1, 5));
}

TEST_CASE_FIXTURE(SavingWorld,
                  "not configured to, the remaining in-memory messages are lost, and reported") {
  options.save_on_shutdown = false;
  options.timeout_shutdown = 0ms;
  files.fail(FaultyFiles::Operation::kMake);
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 5) == 5);
  const Ending ending = queue.queue->shutdown();
  CHECK(ending.lost == 5);
  CHECK(ending.saved == 0);
  CHECK(queue.figures().lost == 5);
  CHECK(queue.reports.count("5 messages in memory were lost") == 1);
}

TEST_CASE_FIXTURE(SavingWorld,
                  "worker threads must be awakened: an idle regular worker ends with the queue") {
  consumer.open();
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(queue.becomes_empty());
  CHECK(queue.figures().workers == 1);
  const Ending ending = queue.queue->shutdown();
  CHECK(queue.figures().workers == 0);
  CHECK(ending.saved + ending.lost + ending.consumers_left == 0);
  CHECK(files_in(folder).empty());
}

TEST_CASE("a DA worker that waits on an empty queue is awakened, an inactive one activated") {
  for (const ShufflerState state : {ShufflerState::kOnEmptyQueue, ShufflerState::kNone}) {
    SavingWorld world;
    REQUIRE(leave_on_disk(world.options, 1, 3) == 3);
    if (state == ShufflerState::kNone) world.options.timeout_worker_thread_shutdown = 0ms;
    {
      const TestEngine queue = world.start_engine();
      REQUIRE(eventually([&] { return AssistedWorld::times_made(queue) == 1; }));
      REQUIRE(queue.wait_until_at(state));
      CHECK(queue.engine->shut_down().saved == 3);
      CHECK(queue.engine->shuffler_state() == ShufflerState::kNone);
    }
    CHECK(world.rest_is(1, 3));
  }
}

TEST_CASE_FIXTURE(SavingWorld, "no worker cancellation occurs during the switchback") {
  options.timeout_shutdown = options.timeout_action_completion = 0ms;
  const TestEngine queue = start_engine();
  const int last = put_until_held(queue);
  const std::uint64_t in_memory = queue.figures->size - 1;
  REQUIRE(in_memory > 0);
  files.block(FaultyFiles::Operation::kRemove);
  const int delivered = last - static_cast<int>(in_memory);
  consumer.let_pass(count(delivered));
  // The disk queue is empty, and the DA worker is removing its files.
  REQUIRE(files.wait_until_blocked());
  auto ending = std::async(std::launch::async, [&] { return queue.engine->shut_down(); });
  CHECK(ending.wait_for(50ms) == std::future_status::timeout);
  files.unblock();
  const Ending how = ending.get();
  CHECK(how.saved == in_memory);
  CHECK(how.lost == 0);
  CHECK(consumer.got() == numbers(1, delivered));
  CHECK(rest_is(delivered + 1, last));
}

TEST_CASE_FIXTURE(SavingWorld, "messages of an abandoned consumer are delivered again, and first") {
  TestConsumer stubborn(TestConsumer::Stop::kIgnored);
  stubborn.close();
  {
    const TestQueue queue(options, stubborn.function());
    hold_first(queue, stubborn);
    REQUIRE(queue.put(2, 12) == 11);
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.consumers_left == 1);
    CHECK(ending.saved == 12);
    CHECK(queue.reports.count("1 consumers did not stop in time") == 1);
  }
  CHECK(rest_is(1, 12));
  stubborn.open();
  CHECK(stubborn.wait_until_forgotten());
}
