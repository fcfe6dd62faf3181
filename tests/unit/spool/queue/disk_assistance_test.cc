// Disk-assisted mode, following "The rsyslog queue object" sentence by sentence: entering, running
// and leaving it. The end of the queue is in disk_assistance_end_test.cc.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

/// Gives the closed CONSUMER number 1, and enqueues numbers until the high watermark is reached and
/// the DA worker has come to the low watermark: four are in memory. Returns the last number.
int put_until_held(const TestEngine& queue, const TestConsumer& consumer) {
  hold_first(queue, consumer);
  int last = 1;
  while (queue.figures->da_runs == 0 && queue.put(last + 1, last + 1) == 1) ++last;
  REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  return last;
}

std::uint64_t count(int messages) {
  return static_cast<std::uint64_t>(messages);
}

/// Only a position file: an empty queue whose process was killed.
void leave_position_alone(const QueueOptions& options) {
  const SpoolFiles spool(quarry::base::FileSystem::real(), options.spool_directory,
                         options.filename, false);
  REQUIRE(spool.write_position(
      {.segment = 1, .offset = kSegmentHeader, .sequence = std::uint64_t{7} << 40}));
}

bool is_over(const TestEngine& queue) {
  return eventually([&] { return !queue.figures->is_disk_assisted; });
}

}  // namespace

TEST_CASE("until the high water mark is reached the queue is a regular memory queue") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function());
  CHECK(queue.put(1, 9) == 9);
  CHECK(queue.figures->da_runs == 0);
  CHECK(queue.figures->size == 9);
  CHECK(files_in(folder).empty());
  consumer.open();
  CHECK(consumer.wait_until_got(9));
  CHECK(queue.figures->da_runs == 0);
}

TEST_CASE(
    "case 1: when the high water mark is hit the regular workers are retired and the DA worker is "
    "initiated") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function());
  const int last = put_until_held(queue, consumer);
  CHECK(queue.figures->is_disk_assisted);
  CHECK(queue.figures->high_watermark_hits == 1);
  // Four, and the one of the regular worker, which runs in parallel to the DA worker.
  CHECK(queue.figures->size == 5);
  CHECK(queue.figures->on_disk == count(last - 5));
  CHECK(queue.figures->workers == 1);
  // When its consumer returns it ends, and takes nothing more from memory.
  consumer.let_pass(2);
  REQUIRE(consumer.wait_until_begun(3));
  CHECK(consumer.got() == numbers(1, 2));
  CHECK(queue.figures->size == 4);
  CHECK(queue.figures->on_disk == count(last - 6));
  CHECK(queue.figures->workers == 1);
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtLowWatermark);
  consumer.open();
  CHECK(consumer.wait_until_got(count(last)));
  CHECK(consumer.got() == numbers(1, last));
}

TEST_CASE(
    "case 1: several regular workers together with those of the DA queue are never too many") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = disk_assisted(folder);
  options.size = 100;
  options.worker_threads = 3;
  options.worker_thread_minimum_messages = 1;
  const TestEngine queue(options, consumer.function());
  REQUIRE(queue.put(1, 60) == 60);
  REQUIRE(consumer.wait_until_begun(3));
  REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  // One of them ends, and one of the DA queue may start.
  consumer.let_pass(1);
  REQUIRE(consumer.wait_until_begun(4));
  consumer.open();
  CHECK(consumer.wait_until_got(60));
  CHECK(consumer.max_at_once() == 3);
}

TEST_CASE(
    "case 2: with data on the disk at startup the worker pool is not started, the DA worker is "
    "initiated") {
  const TemporaryFolder folder;
  const QueueOptions options = disk_assisted(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(options, consumer.function());
  CHECK(queue.figures->is_disk_assisted);
  REQUIRE(consumer.wait_until_begun(1));
  // It waits in the second possible place: memory is empty, the disk is not.
  CHECK(queue.wait_until_at(ShufflerState::kOnEmptyQueue));
  CHECK(queue.put(4, 6) == 3);
  CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  CHECK(queue.figures->size == 3);
  CHECK(queue.figures->workers == 1);
  CHECK(queue.figures->da_runs == 1);
  consumer.open();
  CHECK(consumer.wait_until_got(6));
  CHECK(consumer.got() == numbers(1, 6));
  CHECK(is_over(queue));
}

TEST_CASE("presence of QI file indicates presence of queue data") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.save_on_shutdown = true;
  {
    // It rolls back its batch when it is asked to stop.
    const TestQueue queue(options, [](std::span<const Message>, const std::stop_token&) {
      return Delivery{.delivered = 0, .retry_after = 1ms};
    });
    REQUIRE(queue.put(1, 3) == 3);
    REQUIRE(queue.queue->shutdown().saved == 3);
  }
  const auto is_there = [&] { return std::filesystem::exists(folder / "q.qi"); };
  CHECK(is_there());
  CHECK(rest_of(options) == numbers(1, 3));
  CHECK_FALSE(is_there());
  const TestConsumer consumer;
  const TestEngine queue(options, consumer.function());
  CHECK(queue.figures->da_runs == 0);
}

TEST_CASE("the DA worker initializes DA mode only if it is not initialized already") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  options.timeout_worker_thread_shutdown = 0ms;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(options, consumer.function());
  const auto made = [&] { return queue.reports.count("wait to be delivered"); };
  REQUIRE(eventually([&] { return made() == 1; }));
  REQUIRE(queue.wait_until_at(ShufflerState::kNone));
  REQUIRE(queue.put(4, 4) == 1);
  CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  CHECK(made() == 1);
  CHECK(queue.figures->da_runs == 1);
  consumer.open();
  CHECK(consumer.wait_until_got(4));
  CHECK(consumer.got() == numbers(1, 4));
}

TEST_CASE("the low water mark holds processing until the high water mark is reached again") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function());
  const int last = put_until_held(queue, consumer);
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
  consumer.open();
  CHECK(consumer.wait_until_got(count(next)));
  CHECK(consumer.got() == numbers(1, next));
}

TEST_CASE("the low water mark holds processing until the DA queue indicates it is empty") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function());
  const int last = put_until_held(queue, consumer);
  // All but the last are on disk: memory is held.
  consumer.let_pass(count(last - 5));
  REQUIRE(consumer.wait_until_begun(count(last - 4)));
  CHECK(queue.figures->size == 4);
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtLowWatermark);
  consumer.let_pass(1);
  // The regular worker has resumed.
  CHECK(is_over(queue));
  REQUIRE(consumer.wait_until_begun(count(last - 3)));
  CHECK(consumer.got() == numbers(1, last - 4));
  consumer.open();
  CHECK(consumer.wait_until_got(count(last)));
  CHECK(consumer.got() == numbers(1, last));
}

TEST_CASE("if it switches back, the DA queue is destructed and the regular pool is restarted") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function());
  const int last = put_until_held(queue, consumer);
  CHECK_FALSE(files_in(folder).empty());
  consumer.open();
  CHECK(is_over(queue));
  CHECK(queue.engine->wait_until_empty(60s));
  CHECK(files_in(folder).empty());
  CHECK(queue.figures->on_disk == 0);
  CHECK(queue.figures->disk_bytes == 0);
  REQUIRE(queue.put(last + 1, last + 1) == 1);
  CHECK(consumer.wait_until_got(count(last + 1)));
  CHECK(files_in(folder).empty());
  CHECK(queue.figures->da_runs == 1);
}

TEST_CASE("the whole thing iterates once the high water mark is hit again") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  const TestEngine queue(disk_assisted(folder), consumer.function());
  for (int round = 0; round < 3; ++round) {
    consumer.close();
    REQUIRE(queue.put(15 * round + 1, 15 * round + 15) == 15);
    CHECK(queue.wait_until_at(ShufflerState::kAtLowWatermark));
    consumer.open();
    CHECK(queue.engine->wait_until_empty(60s));
  }
  CHECK(queue.figures->da_runs == 3);
  CHECK(consumer.got() == numbers(1, 45));
}

TEST_CASE(
    "it is vital that DA run mode termination checks be done in the DA worker before it goes into "
    "any wait condition: on an empty queue") {
  const TemporaryFolder folder;
  const QueueOptions options = disk_assisted(folder);
  leave_position_alone(options);
  // The disk queue is empty from the start: no notification will come.
  const TestConsumer consumer;
  const TestEngine queue(options, consumer.function());
  CHECK(is_over(queue));
  CHECK(queue.figures->da_runs == 1);
  CHECK(files_in(folder).empty());
}

TEST_CASE(
    "it is vital that DA run mode termination checks be done in the DA worker before it goes into "
    "any wait condition: at the low water mark") {
  const TemporaryFolder folder;
  const QueueOptions options = disk_assisted(folder);
  leave_position_alone(options);
  HeldUpFiles files;
  files.hold_up(HeldUpFiles::What::kRead);
  const TestConsumer consumer;
  const TestEngine queue(options, consumer.function(), files);
  REQUIRE(files.wait_until_held_up());
  // So few that the DA worker would hold them if it did not check first.
  CHECK(queue.put(1, 3) == 3);
  CHECK(consumer.begun() == 0);
  files.let_go();
  CHECK(consumer.wait_until_got(3));
  CHECK(consumer.got() == numbers(1, 3));
  CHECK(is_over(queue));
}

TEST_CASE("the DA worker may also not wait at all") {
  const TemporaryFolder folder;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(disk_assisted(folder), consumer.function(), files);
  hold_first(queue, consumer);
  files.hold_up(HeldUpFiles::What::kAppend);
  REQUIRE(queue.put(2, 12) == 11);
  REQUIRE(files.wait_until_held_up());
  CHECK(queue.engine->shuffler_state() == ShufflerState::kAtWork);
  // Its writing delays nobody else.
  CHECK(queue.put(13, 15) == 3);
  consumer.open();
  CHECK(consumer.wait_until_got(1));
  files.let_go();
  CHECK(queue.engine->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 15));
}

TEST_CASE("the DA worker may be inactive: the DA queue's worker initiates it once it is empty") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  options.timeout_worker_thread_shutdown = 0ms;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(options, consumer.function());
  REQUIRE(eventually([&] { return queue.reports.count("wait to be delivered") == 1; }));
  REQUIRE(queue.wait_until_at(ShufflerState::kNone));
  CHECK(queue.figures->is_disk_assisted);
  // No message comes, but the mode ends anyway.
  consumer.open();
  CHECK(is_over(queue));
  CHECK(consumer.got() == numbers(1, 3));
  CHECK(files_in(folder).empty());
}

TEST_CASE("the DA worker startup initiation is harmless when called by many at the same time") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.timeout_worker_thread_shutdown = 0ms;
  for (int round = 0; round < 10; ++round) {
    REQUIRE(leave_on_disk(options, 1, 3) == 3);
    TestConsumer consumer;
    consumer.close();
    const TestEngine queue(options, consumer.function());
    REQUIRE(eventually([&] { return queue.reports.count("wait to be delivered") == 1; }));
    REQUIRE(queue.wait_until_at(ShufflerState::kNone));
    // The DA queue becomes empty while messages arrive.
    consumer.open();
    std::atomic<std::size_t> taken = 0;
    std::vector<std::thread> producers;
    for (int i = 0; i < 4; ++i) {
      producers.emplace_back([&] { taken += queue.put(4, 5); });
    }
    for (std::thread& one : producers) one.join();
    CHECK(taken == 8);
    CHECK(queue.engine->wait_until_empty(60s));
    CHECK(consumer.got().size() == 11);
    CHECK(is_over(queue));
  }
}

TEST_CASE("the inactivity timeout shuts down a thread, and the pool starts another when needed") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.timeout_worker_thread_shutdown = 1ms;
  const TestConsumer consumer;
  const TestEngine queue(options, consumer.function());
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(queue.put(i, i) == 1);
    CHECK(consumer.wait_until_got(static_cast<std::size_t>(i)));
    CHECK(eventually([&] { return queue.figures->workers == 0; }));
  }
  CHECK(consumer.got() == numbers(1, 3));
}
