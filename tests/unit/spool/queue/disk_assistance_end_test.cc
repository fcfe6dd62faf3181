// The end of disk-assisted queues: "Queue Destruction" in "The rsyslog queue object".
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

QueueOptions saving(const TemporaryFolder& folder) {
  QueueOptions options = disk_assisted(folder);
  options.save_on_shutdown = true;
  // A closed consumer is soon asked to stop.
  options.timeout_action_completion = 20ms;
  return options;
}

}  // namespace

TEST_CASE("case 3: at shutdown the remaining in-memory data is persisted, and nothing consumed") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 5) == 5);
    REQUIRE(consumer.wait_until_begun(1));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.saved == 5);
    CHECK(ending.lost == 0);
    CHECK(ending.consumers_left == 0);
    CHECK(queue.figures().da_runs == 1);
    CHECK(queue.figures().on_disk == 5);
    CHECK(queue.figures().size == 0);
    CHECK(queue.figures().workers == 0);
  }
  CHECK(consumer.begun() == 1);
  CHECK(consumer.got().empty());
  CHECK(std::filesystem::exists(folder / "q.qi"));
  CHECK(rest_of(options) == numbers(1, 5));
}

TEST_CASE("at destruction the high water mark is 1: a single message gets to the disk") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 1) == 1);
    CHECK(queue.queue->shutdown().saved == 1);
  }
  CHECK(rest_of(options) == numbers(1, 1));
}

TEST_CASE("at destruction the low water mark is 0: what it held gets to the disk") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  TestConsumer consumer;
  consumer.close();
  {
    const TestEngine queue(options, consumer.function());
    hold_first(queue, consumer);
    REQUIRE(queue.put(2, 12) == 11);
    REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
    const Ending ending = queue.engine->shut_down();
    CHECK(ending.saved == 12);
    CHECK(ending.lost == 0);
  }
  // In order: the retired worker's messages, then those on disk, then those held in memory.
  CHECK(consumer.begun() == 1);
  CHECK(rest_of(options) == numbers(1, 12));
}

TEST_CASE("at destruction the DA queue runs in enqueue-only mode: its worker begins nothing more") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  REQUIRE(leave_on_disk(options, 1, 5) == 5);
  TestConsumer consumer;
  consumer.close();
  {
    const TestEngine queue(options, consumer.function());
    REQUIRE(consumer.wait_until_begun(1));
    REQUIRE(queue.put(6, 8) == 3);
    CHECK(queue.engine->shut_down().saved == 8);
  }
  CHECK(consumer.begun() == 1);
  CHECK(rest_of(options) == numbers(1, 8));
}

TEST_CASE("a consumer that completes within its time-out at the end has delivered") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.timeout_action_completion = 5s;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 5) == 5);
    REQUIRE(consumer.wait_until_begun(1));
    auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
    // It rejects messages: it is shutting down.
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

TEST_CASE("configured to persist messages, the shutdown time-out is eternal") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.timeout_shutdown = 0ms;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function(), files);
    REQUIRE(queue.put(1, 5) == 5);
    files.hold_up(HeldUpFiles::What::kMake);
    auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
    REQUIRE(files.wait_until_held_up());
    CHECK(ending.wait_for(50ms) == std::future_status::timeout);
    files.let_go();
    CHECK(ending.get().saved == 5);
  }
  CHECK(rest_of(options) == numbers(1, 5));
}

TEST_CASE("not configured to, it persists as many as it can in the shutdown time-out") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.save_on_shutdown = false;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 5) == 5);
    CHECK(queue.queue->shutdown().saved == 5);
  }
  CHECK(rest_of(options) == numbers(1, 5));
}

TEST_CASE("not configured to, the remaining in-memory messages are lost, and that is told") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.save_on_shutdown = false;
  options.timeout_shutdown = 0ms;
  HeldUpFiles files;
  files.refuse(HeldUpFiles::What::kMake);
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function(), files);
  REQUIRE(queue.put(1, 5) == 5);
  const Ending ending = queue.queue->shutdown();
  CHECK(ending.lost == 5);
  CHECK(ending.saved == 0);
  CHECK(queue.figures().lost == 5);
  CHECK(queue.reports.count("5 messages were in memory") == 1);
}

TEST_CASE("worker threads must be awakened: an idle regular worker ends with the queue") {
  const TemporaryFolder folder;
  const TestConsumer consumer;
  const TestQueue queue(saving(folder), consumer.function());
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(queue.queue->wait_until_empty(60s));
  CHECK(queue.figures().workers == 1);
  const Ending ending = queue.queue->shutdown();
  CHECK(queue.figures().workers == 0);
  CHECK(ending.saved + ending.lost + ending.consumers_left == 0);
  CHECK(files_in(folder).empty());
}

TEST_CASE("worker threads must be awakened: a DA worker that waits on an empty queue ends") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  TestConsumer consumer;
  consumer.close();
  {
    const TestEngine queue(options, consumer.function());
    REQUIRE(queue.wait_until_at(ShufflerState::kOnEmptyQueue));
    CHECK(queue.engine->shut_down().saved == 3);
    CHECK(queue.engine->shuffler_state() == ShufflerState::kNone);
  }
  CHECK(rest_of(options) == numbers(1, 3));
}

TEST_CASE("if in DA run mode and the DA worker is inactive, it is activated to drain") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  options.timeout_worker_thread_shutdown = 0ms;
  TestConsumer consumer;
  consumer.close();
  {
    const TestEngine queue(options, consumer.function());
    REQUIRE(eventually([&] { return queue.reports.count("wait to be delivered") == 1; }));
    REQUIRE(queue.wait_until_at(ShufflerState::kNone));
    CHECK(queue.engine->shut_down().saved == 3);
  }
  CHECK(rest_of(options) == numbers(1, 3));
}

TEST_CASE("no worker cancellation occurs during the switchback") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.timeout_shutdown = options.timeout_action_completion = 0ms;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestEngine queue(options, consumer.function(), files);
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 12) == 11);
  REQUIRE(queue.wait_until_at(ShufflerState::kAtLowWatermark));
  const std::uint64_t in_memory = queue.figures->size - 1;
  REQUIRE(in_memory > 0);
  files.hold_up(HeldUpFiles::What::kRemove);
  consumer.let_pass(12 - in_memory);
  // The DA queue is empty, and its files are being removed.
  REQUIRE(files.wait_until_held_up());
  auto ending = std::async(std::launch::async, [&] { return queue.engine->shut_down(); });
  CHECK(ending.wait_for(50ms) == std::future_status::timeout);
  files.let_go();
  const Ending how = ending.get();
  CHECK(how.saved == in_memory);
  CHECK(how.lost == 0);
  const int last = static_cast<int>(12 - in_memory);
  CHECK(consumer.got() == numbers(1, last));
  CHECK(rest_of(options) == numbers(last + 1, 12));
}

TEST_CASE("all workers reach running state before they are commanded to terminate") {
  const TemporaryFolder folder;
  QueueOptions options = saving(folder);
  options.worker_threads = 3;
  options.worker_thread_minimum_messages = 1;
  options.timeout_action_completion = 5s;
  for (int round = 0; round < 30; ++round) {
    const TestConsumer consumer;
    std::uint64_t saved = 0;
    {
      const TestQueue queue(options, consumer.function());
      REQUIRE(queue.put(1, 5) == 5);
      const Ending ending = queue.queue->shutdown();
      saved = ending.saved;
      CHECK(ending.lost == 0);
      CHECK(ending.consumers_left == 0);
      CHECK(queue.figures().workers == 0);
    }
    // No thread is left.
    CHECK(consumer.wait_until_forgotten());
    CHECK(consumer.got().size() + saved == 5);
    CHECK(rest_of(options).size() == saved);
  }
}

TEST_CASE("a queue that ends in DA run mode is not in it any more, and another one may begin") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 12) == 12);
    CHECK(queue.is_disk_assisted());
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.saved == 12);
    CHECK_FALSE(queue.is_disk_assisted());
    CHECK(queue.queue->shutdown().saved == 12);
  }
  const TestQueue queue(options, TestConsumer().function());
  CHECK(queue.queue->wait_until_empty(60s));
}

TEST_CASE("messages of an abandoned consumer are delivered again, and first") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  TestConsumer consumer(TestConsumer::Stop::kIgnored);
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    hold_first(queue, consumer);
    REQUIRE(queue.put(2, 12) == 11);
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.consumers_left == 1);
    CHECK(ending.saved == 12);
    CHECK(queue.reports.count("do not end") == 1);
  }
  CHECK(rest_of(options) == numbers(1, 12));
  consumer.open();
  CHECK(consumer.wait_until_forgotten());
}

TEST_CASE("a queue without a consumer is enqueue-only: everything is saved") {
  const TemporaryFolder folder;
  const QueueOptions options = saving(folder);
  {
    const TestQueue queue(options, {});
    CHECK(queue.put(1, 100) == 100);
    CHECK(queue.figures().size <= options.size);
    CHECK(queue.queue->shutdown().saved == 100);
  }
  CHECK(rest_of(options) == numbers(1, 100));
}
