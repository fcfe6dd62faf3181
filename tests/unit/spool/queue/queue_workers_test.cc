// Workers: how many there are, how fast they work, and how long the queue waits for them.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

namespace {

std::chrono::steady_clock::time_point time_now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

TEST_CASE("the pool grows by one for each queue.workerthreadminimummessages") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.worker_threads = 3;
  options.worker_thread_minimum_messages = 4;
  const TestQueue queue(options, consumer.function());
  // One is with the worker.
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 4) == 3);
  CHECK(queue.figures().workers == 1);
  REQUIRE(queue.put(5, 5) == 1);
  REQUIRE(consumer.wait_until_begun(2));
  CHECK(queue.figures().workers == 2);
  // The maximum.
  REQUIRE(queue.put(6, 20) == 15);
  REQUIRE(consumer.wait_until_begun(3));
  CHECK(queue.figures().workers == 3);
  consumer.open();
  CHECK(consumer.wait_until_got(20));
  CHECK(consumer.max_at_once() == 3);
}

TEST_CASE("by default there is one more worker for each part of the size") {
  const auto options = complete(with([](QueueOptions& o) {
    o.size = 20;
    o.worker_threads = 4;
  }));
  REQUIRE(options);
  CHECK(options->worker_thread_minimum_messages == 5);
}

TEST_CASE("workers end after queue.timeoutworkerthreadshutdown, and are started again") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.worker_threads = 3;
  options.worker_thread_minimum_messages = 1;
  options.timeout_worker_thread_shutdown = 5ms;
  const TestQueue queue(options, consumer.function());
  for (int round = 0; round < 3; ++round) {
    consumer.close();
    const std::size_t begun = consumer.begun();
    REQUIRE(queue.put(1, 9) == 9);
    REQUIRE(consumer.wait_until_begun(begun + 3));
    CHECK(queue.figures().workers == 3);
    consumer.open();
    CHECK(eventually([&] { return queue.figures().workers == 0; }));
  }
  CHECK(consumer.got().size() == 27);
}

TEST_CASE("idle workers without a timeout stay, and are reused") {
  const TestConsumer consumer;
  const TestQueue queue(small_options(), consumer.function());
  for (int i = 1; i <= 200; ++i) {
    REQUIRE(queue.put(i, i) == 1);
    REQUIRE(consumer.wait_until_got(static_cast<std::size_t>(i)));
  }
  CHECK(queue.figures().workers == 1);
}

TEST_CASE("queue.dequeueslowdown is the time from one batch to the next") {
  TestConsumer consumer;
  QueueOptions options = small_options();
  options.dequeue_slowdown = 10ms;
  const TestQueue queue(options, consumer.function());
  const auto begin = time_now();
  REQUIRE(queue.put(1, 5) == 5);
  REQUIRE(consumer.wait_until_got(5));
  CHECK(time_now() - begin >= 40ms);
}

TEST_CASE("queue.dequeueslowdown does not delay the end") {
  TestConsumer consumer;
  QueueOptions options = small_options();
  options.dequeue_slowdown = 1h;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 3) == 3);
  REQUIRE(consumer.wait_until_got(1));
  CHECK(queue.queue->shutdown().lost == 0);
  CHECK(consumer.got() == numbers(1, 3));
}

TEST_CASE("a producer waits for a full queue for queue.timeoutenqueue, and is then refused") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.timeout_enqueue = 30ms;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 20) == 20);
  const auto begin = time_now();
  const auto taken = queue.queue->enqueue({.content = "21"});
  CHECK(time_now() - begin >= 30ms);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kLimit);
  CHECK(taken.error().message.contains("queue.timeoutenqueue"));
  CHECK(queue.figures().full == 1);
  CHECK(queue.figures().enqueued == 20);
}

TEST_CASE("a producer that waits for a full queue continues as soon as there is room") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.timeout_enqueue = kEternal;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 20) == 20);
  auto taken = std::async(std::launch::async, [&] { return queue.put(21, 25); });
  CHECK(taken.wait_for(20ms) == std::future_status::timeout);
  consumer.open();
  CHECK(taken.get() == 5);
  CHECK(consumer.wait_until_got(25));
  CHECK(consumer.got() == numbers(1, 25));
  CHECK(queue.figures().max_size <= 20);
}

TEST_CASE("a producer that waits for room gets an answer when the queue ends") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.timeout_enqueue = kEternal;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 20) == 20);
  auto none = std::async(std::launch::async,
                         [&] { return queue.queue->enqueue({.content = "21"}, Delay::kNone); });
  auto full = std::async(std::launch::async,
                         [&] { return queue.queue->enqueue({.content = "22"}, Delay::kFull); });
  CHECK(none.wait_for(10ms) == std::future_status::timeout);
  CHECK(queue.queue->shutdown().lost == 20);
  const auto refused = none.get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kBusy);
  CHECK_FALSE(full.get());
}

TEST_CASE("a queue in memory continues to deliver for queue.timeoutshutdown") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.worker_threads = 2;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 20) == 20);
  auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
  REQUIRE(eventually([&] { return !queue.queue->enqueue({.content = "late"}); }));
  consumer.open();
  CHECK(ending.get().lost == 0);
  CHECK(queue.figures().delivered == queue.figures().enqueued);
}

TEST_CASE("a consumer that respects its stop token is not abandoned, and loses nothing") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 3) == 3);
    REQUIRE(consumer.wait_until_begun(1));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.consumers_left == 0);
    CHECK(ending.saved == 3);
  }
  CHECK(rest_of(options) == numbers(1, 3));
}

TEST_CASE("a consumer that ignores its stop token and timeouts is abandoned, and reported") {
  TestConsumer consumer(TestConsumer::Stop::kIgnored);
  consumer.close();
  {
    const TestQueue queue(hurried(), consumer.function());
    REQUIRE(queue.put(1, 3) == 3);
    REQUIRE(consumer.wait_until_begun(1));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.consumers_left == 1);
    CHECK(ending.lost == 3);
    CHECK(queue.figures().workers == 0);
    CHECK(queue.reports.count("1 consumers do not end") == 1);
  }
  // It continues after the queue is gone, without harm.
  consumer.open();
  CHECK(consumer.wait_until_forgotten());
}

TEST_CASE("a disk queue delivers the messages of an abandoned consumer again") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  TestConsumer consumer(TestConsumer::Stop::kIgnored);
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 3) == 3);
    REQUIRE(consumer.wait_until_begun(1));
    CHECK(queue.queue->shutdown().saved == 3);
  }
  CHECK(rest_of(options) == numbers(1, 3));
  consumer.open();
  CHECK(consumer.wait_until_forgotten());
}

TEST_CASE("workers without a running consumer are not abandoned, however short the timeouts") {
  QueueOptions options = small_options();
  options.worker_threads = 4;
  options.worker_thread_minimum_messages = 1;
  options.timeout_shutdown = options.timeout_action_completion = 0ms;
  for (int round = 0; round < 20; ++round) {
    TestConsumer consumer;
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 8) == 8);
    REQUIRE(queue.queue->wait_until_empty(60s));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.consumers_left == 0);
    CHECK(queue.reports.count("do not end") == 0);
  }
}

TEST_CASE("the destructor ends the queue, and a second shutdown() returns the same") {
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(hurried(), consumer.function());
    REQUIRE(queue.put(1, 4) == 4);
    CHECK(queue.queue->shutdown().lost == 4);
    CHECK(queue.queue->shutdown().lost == 4);
    CHECK(queue.figures().lost == 4);
  }
  {
    const TestQueue queue(hurried(), consumer.function());
    REQUIRE(queue.put(1, 1) == 1);
  }
  CHECK(consumer.wait_until_forgotten());
}
