// What a full queue does with producers, and its statistics.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

namespace {

Message with_severity(std::uint8_t severity, const std::string& text = "x") {
  return {.content = text, .severity = severity};
}

}  // namespace

TEST_CASE("above queue.discardmark what matters as little as queue.discardseverity is discarded") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.discard_mark = 8;
  options.discard_severity = 5;
  const TestQueue queue(options, consumer.function());
  const auto put = [&](std::uint8_t severity) {
    return queue.queue->enqueue(with_severity(severity));
  };
  // The consumer discards above the mark, too: it has its batch already.
  REQUIRE(put(7));
  REQUIRE(consumer.wait_until_begun(1));
  for (int i = 1; i < 8; ++i) REQUIRE(put(7));
  for (const std::uint8_t severity : std::initializer_list<std::uint8_t>{5, 6, 7}) {
    const auto taken = put(severity);
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kDiscarded);
    CHECK(taken.error().message.contains("queue.discardmark"));
  }
  for (const std::uint8_t severity : std::initializer_list<std::uint8_t>{0, 4})
    CHECK(put(severity));
  CHECK(queue.figures().discarded == 3);
  CHECK(queue.figures().enqueued == 10);
  CHECK(queue.figures().size == 10);
}

TEST_CASE("by default nothing is discarded") {
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(hurried(), consumer.function());
  for (int i = 0; i < 20; ++i) CHECK(queue.queue->enqueue(with_severity(kLeastSevere)));
  CHECK(queue.figures().discarded == 0);
}

TEST_CASE("of many messages at once, those before the first that is discarded are taken") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.discard_mark = 4;
  options.discard_severity = 7;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_begun(1));
  std::vector<Message> messages;
  for (const std::uint8_t severity : std::initializer_list<std::uint8_t>{7, 7, 7, 6, 7, 6})
    messages.push_back(with_severity(severity));
  quarry::base::Error error;
  CHECK(queue.queue->enqueue(messages, Delay::kNone, &error) == 4);
  CHECK(error.code == ErrorCode::kDiscarded);
}

TEST_CASE(
    "many messages at once are taken in their order, waiting for room, or until there is none") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.timeout_enqueue = 0ms;
  const TestQueue queue(options, consumer.function());
  const auto put = [&](int first, int last) {
    std::vector<Message> messages;
    for (const std::string& text : numbers(first, last)) messages.push_back({.content = text});
    quarry::base::Error error;
    const std::size_t taken = queue.queue->enqueue(messages, Delay::kNone, &error);
    CHECK((taken == messages.size() || error.code == ErrorCode::kLimit));
    return taken;
  };
  CHECK(put(1, 0) == 0);
  CHECK(put(1, 12) == 12);
  CHECK(put(13, 30) == 8);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 20));
}

TEST_CASE("who can wait for ever does from queue.fulldelaymark on, others do not") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.full_delay_mark = 15;
  // That does not limit a full delay.
  options.timeout_enqueue = 1ms;
  const TestQueue queue(options, consumer.function());
  CHECK(queue.put(1, 15, Delay::kFull) == 15);
  auto taken = std::async(std::launch::async, [&] { return queue.put(17, 17, Delay::kFull); });
  CHECK(taken.wait_for(30ms) == std::future_status::timeout);
  CHECK(queue.put(16, 16) == 1);
  CHECK(taken.wait_for(10ms) == std::future_status::timeout);
  CHECK(queue.figures().full == 0);
  consumer.open();
  CHECK(taken.get() == 1);
  CHECK(consumer.wait_until_got(17));
  CHECK(consumer.got() == numbers(1, 17));
}

TEST_CASE("who can wait a moment does from queue.lightdelaymark on, and then goes on") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.light_delay_mark = 12;
  const TestQueue queue(options, consumer.function());
  const auto begin = std::chrono::steady_clock::now();
  CHECK(queue.put(1, 12, Delay::kLight) == 12);
  CHECK(queue.put(13, 13, Delay::kNone) == 1);
  auto taken = std::async(std::launch::async, [&] { return queue.put(14, 14, Delay::kLight); });
  CHECK(taken.wait_for(30ms) == std::future_status::timeout);
  CHECK(taken.get() == 1);
  CHECK(std::chrono::steady_clock::now() - begin >= 1s);
  CHECK(queue.figures().size == 14);
}

TEST_CASE("who waits a moment goes on as soon as the queue is below queue.lightdelaymark") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = hurried();
  options.light_delay_mark = 12;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 12) == 12);
  auto taken = std::async(std::launch::async, [&] { return queue.put(13, 32, Delay::kLight); });
  consumer.open();
  CHECK(taken.get() == 20);
  CHECK(consumer.wait_until_got(32));
}

TEST_CASE("severity and content come as they were, empty ones and large ones too, from the disk") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  std::vector<Message> got;
  std::vector<Message> sent = {with_severity(0, ""), with_severity(7, std::string("\0\n\xff", 3)),
                               with_severity(3, std::string(3 << 20, 'l')),
                               with_severity(6, "end")};
  {
    const TestQueue queue(options, [&](std::span<const Message> batch, const auto& /*stop*/) {
      got.insert(got.end(), batch.begin(), batch.end());
      return Delivery{.delivered = batch.size()};
    });
    for (const Message& one : sent) REQUIRE(queue.queue->enqueue(one));
    CHECK(queue.queue->wait_until_empty(60s));
  }
  CHECK(got == sent);
}

TEST_CASE("the figures of a queue add up") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(disk_assisted(folder), consumer.function());
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
  REQUIRE(queue.queue->wait_until_empty(60s));
  now = queue.figures();
  CHECK(now.delivered == 15);
  CHECK(now.size + now.on_disk + now.disk_bytes + now.lost + now.discarded + now.full == 0);
  CHECK_FALSE(now.is_disk_assisted);
}

TEST_CASE("figures are read while a consumer and the disk are held up") {
  const TemporaryFolder folder;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(disk_assisted(folder), consumer.function(), files);
  files.hold_up(HeldUpFiles::What::kMake);
  REQUIRE(queue.put(1, 12) == 12);
  REQUIRE(files.wait_until_held_up());
  CHECK(queue.figures().enqueued == 12);
  CHECK(queue.figures().size == 12);
  files.let_go();
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
}

TEST_CASE("waiting until a queue is empty has a limit, and sees what a consumer has") {
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(hurried(), consumer.function());
  CHECK(queue.queue->wait_until_empty(0ms));
  hold_first(queue, consumer);
  CHECK_FALSE(queue.queue->wait_until_empty(5ms));
  consumer.open();
  CHECK(queue.queue->wait_until_empty(kEternal));
}

TEST_CASE("queue.maxdiskspace is not passed, and what does not fit is refused by its name") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.size = 1000;
  options.max_file_size = 1024;
  options.max_disk_space = 4096;
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  const std::string text(100, 't');
  std::size_t taken = 0;
  while (taken < 100) {
    const auto result = queue.queue->enqueue({.content = text});
    if (!result) {
      CHECK(result.error().code == ErrorCode::kNoSpace);
      CHECK(result.error().message.contains("queue.maxdiskspace"));
      break;
    }
    ++taken;
  }
  CHECK(taken > 20);
  CHECK(taken < 40);
  CHECK(queue.figures().disk_bytes <= 4096);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got().size() == taken);
}
