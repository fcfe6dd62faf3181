// Tests the limits of a full queue, its workers, its timeouts and its statistics.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Enqueues the numbers FIRST to LAST in another thread, because the queue blocks the producer.
std::future<std::size_t> put_later(const TestQueue& queue, int first, int last,
                                   Delay delay = Delay::kNone) {
  auto taken = std::async(std::launch::async,
                          [&queue, first, last, delay] { return queue.put(first, last, delay); });
  CHECK(taken.wait_for(30ms) == std::future_status::timeout);
  return taken;
}

}  // namespace

TEST_CASE_FIXTURE(MemoryWorld,
                  "above queue.discardmark messages of queue.discardseverity are discarded") {
  {
    // By default the queue does not discard messages.
    const TestQueue queue = start();
    std::vector<Message> all(20, {.content = "x", .severity = kLeastSevere});
    CHECK(queue.put(all) == 20);
  }
  options.discard_mark = 8;
  options.discard_severity = 5;
  const TestQueue queue = start();
  const auto put = [&](std::uint8_t severity) {
    return queue.queue->enqueue({.content = "x", .severity = severity});
  };
  // The consumer holds one message during the whole test. Otherwise a delivery above discard_mark
  // would also discard messages.
  const std::size_t begun = consumer.begun();
  REQUIRE(put(7));
  REQUIRE(consumer.wait_until_begun(begun + 1));
  for (int i = 1; i < 8; ++i) REQUIRE(put(7));
  for (const int severity : {5, 6, 7}) {
    const auto taken = put(static_cast<std::uint8_t>(severity));
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kDiscarded);
    CHECK(taken.error().message.contains("queue.discardmark"));
  }
  CHECK(put(0));
  CHECK(put(4));
  CHECK(queue.figures().discarded == 3);
  CHECK(queue.figures().enqueued == 10);
  CHECK(queue.figures().size == 10);
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "of many messages at once, those before the first that is discarded are taken") {
  options.discard_mark = 4;
  options.discard_severity = 7;
  const TestQueue queue = start();
  hold_first(queue, consumer);
  auto all = messages(1, 6);
  for (const std::size_t i : {0UZ, 1UZ, 2UZ, 4UZ}) all[i].severity = 7;
  Error error;
  CHECK(queue.put(all, &error) == 4);
  CHECK(error.code == ErrorCode::kDiscarded);
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "many messages at once are taken in their order until there is no room") {
  options.timeout_enqueue = 0ms;
  const TestQueue queue = start();
  const auto put = [&](int first, int last) {
    auto all = messages(first, last);
    Error error;
    const std::size_t taken = queue.put(all, &error);
    CHECK((taken == all.size() || error.code == ErrorCode::kLimit));
    return taken;
  };
  CHECK(put(1, 0) == 0);
  CHECK(put(1, 12) == 12);
  CHECK(put(13, 30) == 8);
  consumer.open();
  CHECK(queue.becomes_empty());
  CHECK(consumer.got() == numbers(1, 20));
}

TEST_CASE_FIXTURE(MemoryWorld, "a full delay waits above queue.fulldelaymark, and no other does") {
  options.full_delay_mark = 15;
  // This timeout does not apply to a full delay.
  options.timeout_enqueue = 1ms;
  const TestQueue queue = start();
  CHECK(queue.put(1, 15, Delay::kFull) == 15);
  auto taken = put_later(queue, 17, 17, Delay::kFull);
  CHECK(queue.put(16, 16) == 1);
  CHECK(taken.wait_for(10ms) == std::future_status::timeout);
  CHECK(queue.figures().full == 0);
  consumer.open();
  CHECK(taken.get() == 1);
  CHECK(consumer.wait_until_got(17));
  CHECK(consumer.got() == numbers(1, 17));
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "a light delay waits above queue.lightdelaymark, for a second at most") {
  options.light_delay_mark = 12;
  const TestQueue queue = start();
  const auto begin = SteadyClock::now();
  CHECK(queue.put(1, 12, Delay::kLight) == 12);
  CHECK(queue.put(13, 13, Delay::kNone) == 1);
  CHECK(put_later(queue, 14, 14, Delay::kLight).get() == 1);
  CHECK(SteadyClock::now() - begin >= 1s);
  CHECK(queue.figures().size == 14);
  // The delay ends early when the size of the queue is below light_delay_mark.
  auto taken = std::async(std::launch::async, [&] { return queue.put(15, 32, Delay::kLight); });
  consumer.open();
  CHECK(taken.get() == 18);
  CHECK(consumer.wait_until_got(32));
}

TEST_CASE_FIXTURE(MemoryWorld, "a producer waits for queue.timeoutenqueue, and is then refused") {
  options.timeout_enqueue = 30ms;
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 20) == 20);
  const auto begin = SteadyClock::now();
  const auto taken = queue.queue->enqueue({.content = "21"});
  CHECK(SteadyClock::now() - begin >= 30ms);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kLimit);
  CHECK(taken.error().message.contains("queue.timeoutenqueue"));
  CHECK(queue.figures().full == 1);
  CHECK(queue.figures().enqueued == 20);
}

TEST_CASE_FIXTURE(MemoryWorld, "producers that wait for room get an answer when the queue ends") {
  options.timeout_enqueue = kEternal;
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 20) == 20);
  auto none = std::async(std::launch::async,
                         [&] { return queue.queue->enqueue({.content = "21"}, Delay::kNone); });
  auto full = put_later(queue, 22, 22, Delay::kFull);
  CHECK(queue.queue->shutdown().lost == 20);
  const auto refused = none.get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kBusy);
  CHECK(full.get() == 0);
}

// --- workers ----------------------------------------------------------------------------------

TEST_CASE_FIXTURE(MemoryWorld, "the pool grows by one for each queue.workerthreadminimummessages") {
  options.worker_threads = 3;
  options.worker_thread_minimum_messages = 4;
  const TestQueue queue = start();
  // The worker holds the first message.
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 4) == 3);
  CHECK(queue.figures().workers == 1);
  REQUIRE(queue.put(5, 5) == 1);
  REQUIRE(consumer.wait_until_begun(2));
  CHECK(queue.figures().workers == 2);
  // Only a third worker is started, because three is the maximum.
  REQUIRE(queue.put(6, 20) == 15);
  REQUIRE(consumer.wait_until_begun(3));
  CHECK(queue.figures().workers == 3);
  consumer.open();
  CHECK(consumer.wait_until_got(20));
  CHECK(consumer.max_at_once() == 3);
}

TEST_CASE_FIXTURE(MemoryWorld, "idle workers end after their timeout, and are started again") {
  add_workers(3);
  options.timeout_worker_thread_shutdown = 5ms;
  const TestQueue queue = start();
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

TEST_CASE_FIXTURE(MemoryWorld, "idle workers without a timeout stay, and are reused") {
  consumer.open();
  const TestQueue queue = start();
  for (int i = 1; i <= 200; ++i) {
    REQUIRE(queue.put(i, i) == 1);
    REQUIRE(consumer.wait_until_got(static_cast<std::size_t>(i)));
  }
  CHECK(queue.figures().workers == 1);
}

TEST_CASE("queue.dequeueslowdown is the time from one batch to the next, except at the end") {
  for (const milliseconds slowdown : {milliseconds(10), milliseconds(1h)}) {
    MemoryWorld world;
    world.options.timeout_shutdown = 5s;
    world.options.dequeue_slowdown = slowdown;
    world.consumer.open();
    const TestQueue queue = world.start();
    const auto begin = SteadyClock::now();
    REQUIRE(queue.put(1, 5) == 5);
    REQUIRE(world.consumer.wait_until_got(slowdown == 10ms ? 5 : 1));
    if (slowdown == 10ms) CHECK(SteadyClock::now() - begin >= 40ms);
    CHECK(queue.queue->shutdown().lost == 0);
    CHECK(world.consumer.got() == numbers(1, 5));
  }
}

TEST_CASE_FIXTURE(MemoryWorld, "a queue in memory continues to deliver for queue.timeoutshutdown") {
  options.worker_threads = 2;
  options.timeout_shutdown = 5s;
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 20) == 20);
  auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
  REQUIRE(eventually([&] { return !queue.queue->enqueue({.content = "late"}); }));
  consumer.open();
  CHECK(ending.get().lost == 0);
  CHECK(queue.figures().delivered == queue.figures().enqueued);
}

TEST_CASE("workers without a running consumer are not abandoned, however short the timeouts") {
  for (int round = 0; round < 20; ++round) {
    MemoryWorld world;
    world.add_workers(4);
    world.options.timeout_shutdown = world.options.timeout_action_completion = 0ms;
    world.consumer.open();
    const TestQueue queue = world.start();
    REQUIRE(queue.put(1, 8) == 8);
    REQUIRE(queue.becomes_empty());
    CHECK(queue.queue->shutdown().consumers_left == 0);
    CHECK(queue.reports.count("did not stop") == 0);
  }
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "the destructor ends the queue, and a second shutdown() returns the same") {
  {
    const TestQueue queue = start();
    REQUIRE(queue.put(1, 4) == 4);
    CHECK(queue.queue->shutdown().lost == 4);
    CHECK(queue.queue->shutdown().lost == 4);
    CHECK(queue.figures().lost == 4);
  }
  CHECK(start().put(1, 1) == 1);
  CHECK(consumer.wait_until_forgotten());
}

// --- statistics -------------------------------------------------------------------------------

TEST_CASE_FIXTURE(QueueWorld, "the figures of a queue add up") {
  const TestQueue queue = start();
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 15) == 14);
  CHECK(eventually([&] { return queue.figures().on_disk > 0; }));
  Statistics now = queue.figures();
  CHECK(now.enqueued == 15);
  CHECK(now.delivered == 0);
  CHECK(now.is_disk_assisted);
  CHECK(now.high_watermark_hits >= 1);
  CHECK(now.da_runs == 1);
  CHECK(now.disk_bytes > 0);
  CHECK(now.max_size >= 10);
  CHECK(now.workers == 1);
  consumer.open();
  REQUIRE(queue.becomes_empty());
  now = queue.figures();
  CHECK(now.delivered == 15);
  CHECK(now.size + now.on_disk + now.disk_bytes + now.lost + now.discarded + now.full == 0);
  CHECK_FALSE(now.is_disk_assisted);
}

TEST_CASE_FIXTURE(QueueWorld, "figures are read while a consumer and the disk are blocked") {
  const TestQueue queue = start();
  files.block(FaultyFiles::Operation::kMake);
  REQUIRE(queue.put(1, 12) == 12);
  REQUIRE(files.wait_until_blocked());
  CHECK(queue.figures().enqueued == 12);
  CHECK(queue.figures().size == 12);
  files.unblock();
  consumer.open();
  CHECK(queue.becomes_empty());
}
