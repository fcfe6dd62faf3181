// What a queue delivers, and when: discarding on delivery, minimum batch sizes, hours of the day,
// and sampling.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

constexpr std::uint8_t kDebug = 7;
constexpr std::uint8_t kAlert = 1;

/// Enqueues the numbers FIRST to LAST.
void put(const TestQueue& queue, int first, int last, std::uint8_t severity) {
  for (std::string& text : numbers(first, last)) {
    REQUIRE(queue.queue->enqueue({.content = std::move(text), .severity = severity}));
  }
}

/// A queue that discards debug messages above its mark.
QueueOptions choosy(QueueType type, const TemporaryFolder& folder, std::size_t mark) {
  QueueOptions options = disk_assisted(folder);
  options.type = type;
  if (type == QueueType::kMemory) options.filename.clear();
  options.discard_mark = mark;
  options.discard_severity = kDebug;
  options.dequeue_batch_size = 5;
  return options;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

std::tm at(int hour, int minute, int second) {
  std::tm local{};
  local.tm_hour = hour;
  local.tm_min = minute;
  local.tm_sec = second;
  return local;
}

QueueOptions during(int begin, int end) {
  QueueOptions options;
  options.dequeue_time_begin = begin;
  options.dequeue_time_end = end;
  return options;
}

QueueOptions sampled(std::size_t interval) {
  QueueOptions options = small_options();
  options.sampling_interval = interval;
  return options;
}

}  // namespace

TEST_CASE(
    "above queue.discardmark the least severe queued messages are discarded, down to the mark") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    TestConsumer consumer;
    consumer.close();
    const TestQueue queue(choosy(type, folder, 9), consumer.function());
    put(queue, 1, 1, kAlert);
    REQUIRE(consumer.wait_until_begun(1));
    put(queue, 2, 5, kDebug);
    put(queue, 6, 12, kAlert);
    consumer.open();
    CHECK(queue.queue->wait_until_empty(60s));
    // Eleven were left when the first was delivered: three are above the mark.
    CHECK(consumer.got() == joined({"1"}, numbers(5, 12)));
    CHECK(queue.figures().discarded_queued == 3);
    CHECK(queue.figures().discarded == 0);
    CHECK(queue.figures().delivered == 9);
    CHECK(queue.figures().enqueued == 12);
    queue.queue->shutdown();
    CHECK(files_in(folder).empty());
  }
}

TEST_CASE("the rest of a batch is given back and delivered in order") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    TestConsumer consumer;
    consumer.close();
    consumer.answer({[](auto batch) { return Delivery{.delivered = batch.size()}; },
                     [](auto /*batch*/) { return Delivery{.delivered = 1}; },
                     [](auto /*batch*/) { return Delivery{}; }});
    const TestQueue queue(choosy(type, folder, 6), consumer.function());
    put(queue, 1, 1, kAlert);
    REQUIRE(consumer.wait_until_begun(1));
    for (int number = 2; number <= 5; ++number)
      put(queue, number, number, number % 2 ? kDebug : kAlert);
    put(queue, 6, 12, kAlert);
    consumer.open();
    CHECK(queue.queue->wait_until_empty(60s));
    CHECK(consumer.got() == joined({"1", "2", "4"}, numbers(6, 12)));
    CHECK(queue.figures().discarded_queued == 2);
    queue.queue->shutdown();
    CHECK(files_in(folder).empty());
  }
}

TEST_CASE("a batch that is discarded completely does not end the queue") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(choosy(QueueType::kDisk, folder, 7), consumer.function());
  put(queue, 1, 1, kAlert);
  REQUIRE(consumer.wait_until_begun(1));
  put(queue, 2, 6, kDebug);
  put(queue, 7, 20, kAlert);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == joined({"1"}, numbers(7, 20)));
  CHECK(consumer.batch_sizes().at(1) == 5);
}

TEST_CASE("messages on the disk of a disk-assisted queue are not discarded") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = choosy(QueueType::kDisk, folder, 6);
  options.type = QueueType::kMemory;
  const TestQueue queue(options, consumer.function());
  put(queue, 1, 1, kAlert);
  REQUIRE(consumer.wait_until_begun(1));
  put(queue, 2, 5, kDebug);
  put(queue, 6, 15, kAlert);
  REQUIRE(eventually([&] { return queue.figures().on_disk >= 6; }));
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 15));
  CHECK(queue.figures().discarded_queued == 0);
}

TEST_CASE("a batch below queue.mindequeuebatchsize is delivered after its timeout") {
  const TestConsumer consumer;
  QueueOptions options = small_options();
  options.dequeue_batch_size = 10;
  options.min_dequeue_batch_size = 5;
  options.min_dequeue_batch_timeout = 30ms;
  const TestQueue queue(options, consumer.function());
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_got(1));
  CHECK(std::chrono::steady_clock::now() - begin >= 30ms);
}

TEST_CASE("a batch that is large enough does not wait, nor does the end") {
  const TestConsumer consumer;
  QueueOptions options = small_options();
  options.dequeue_batch_size = 10;
  options.min_dequeue_batch_size = 5;
  options.min_dequeue_batch_timeout = 1h;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 5) == 5);
  REQUIRE(consumer.wait_until_got(5));
  CHECK(consumer.batch_sizes() == std::vector<std::size_t>{5});
  REQUIRE(queue.put(6, 7) == 2);
  CHECK(queue.queue->shutdown().lost == 0);
  CHECK(consumer.batch_sizes() == std::vector<std::size_t>{5, 2});
}

TEST_CASE("a worker that waits for a larger batch makes way for disk assistance") {
  const TemporaryFolder folder;
  const TestConsumer consumer;
  QueueOptions options = disk_assisted(folder);
  options.dequeue_batch_size = options.min_dequeue_batch_size = 15;
  options.min_dequeue_batch_timeout = 1h;
  const TestQueue queue(options, consumer.function());
  // The high watermark is 10.
  REQUIRE(queue.put(1, 30) == 30);
  CHECK(consumer.wait_until_got(15));
  CHECK(consumer.batch_sizes().front() >= 10);
}

TEST_CASE("hours of the day, also across midnight, and the time until they begin") {
  const auto left = [](int begin, int end, const std::tm& local) {
    return until_window(during(begin, end), local);
  };
  CHECK(left(0, kNoDequeueTimeEnd, at(3, 0, 0)) == 0s);
  CHECK(left(8, kNoDequeueTimeEnd, at(3, 0, 0)) == 0s);
  CHECK(left(4, 22, at(4, 0, 0)) == 0s);
  CHECK(left(4, 22, at(21, 59, 59)) == 0s);
  CHECK(left(4, 22, at(22, 0, 0)) == 6h);
  CHECK(left(4, 22, at(3, 30, 15)) == 29min + 45s);
  CHECK(left(22, 4, at(22, 0, 0)) == 0s);
  CHECK(left(22, 4, at(3, 59, 59)) == 0s);
  CHECK(left(22, 4, at(4, 0, 0)) == 18h);
  CHECK(left(22, 4, at(21, 59, 59)) == 1s);
  CHECK(left(8, 24, at(23, 59, 59)) == 0s);
  CHECK(left(8, 24, at(0, 0, 0)) == 8h);
  CHECK(left(22, 0, at(23, 0, 0)) == 0s);
  CHECK(left(22, 0, at(0, 0, 0)) == 22h);
  // A leap second.
  CHECK(left(4, 22, at(3, 59, 60)) == 1s);
}

TEST_CASE("outside its hours a queue delivers nothing, and saves its messages when it ends") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.dequeue_time_begin = 22;
  options.dequeue_time_end = 4;
  options.save_on_shutdown = true;
  const TestConsumer consumer;
  const auto noon = [] { return at(12, 0, 0); };
  {
    const TestEngine queue(options, consumer.function(), quarry::base::FileSystem::real(), noon);
    REQUIRE(queue.put(1, 3) == 3);
    CHECK_FALSE(queue.engine->wait_until_empty(30ms));
    const Ending ending = queue.engine->shut_down();
    CHECK(ending.saved == 3);
    CHECK(ending.lost == 0);
  }
  CHECK(consumer.begun() == 0);
  // Nor from disk, but during its hours it does.
  {
    const TestEngine queue(options, consumer.function(), quarry::base::FileSystem::real(), noon);
    CHECK_FALSE(queue.engine->wait_until_empty(30ms));
  }
  CHECK(consumer.begun() == 0);
  const TestEngine queue(options, consumer.function(), quarry::base::FileSystem::real(),
                         [] { return at(23, 0, 0); });
  CHECK(queue.engine->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 3));
}

TEST_CASE("with queue.samplinginterval one message per interval is taken, one by one or together") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDirect}) {
    const TestConsumer consumer;
    QueueOptions options = sampled(3);
    options.type = type;
    const TestQueue queue(options, consumer.function());
    CHECK(queue.put(1, 4) == 4);
    auto together = messages(5, 13);
    Error error;
    CHECK(queue.queue->enqueue(together, Delay::kNone, &error) == 9);
    CHECK(queue.put(14, 16) == 3);
    CHECK(queue.queue->wait_until_empty(60s));
    CHECK(consumer.got() == std::vector<std::string>{"3", "6", "9", "12", "15"});
    CHECK(queue.figures().enqueued == 5);
    CHECK(queue.figures().left_out == 11);
  }
}

TEST_CASE("a refused sample is still a sample when it is tried again") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = sampled(2);
  options.size = 3;
  options.high_watermark.reset();
  options.low_watermark.reset();
  options.timeout_enqueue = 0ms;
  const TestQueue queue(options, consumer.function());
  auto all = messages(1, 12);
  Error error;
  // 2, 4 and 6 are kept.
  CHECK(queue.queue->enqueue(all, Delay::kNone, &error) == 7);
  CHECK(error.code == ErrorCode::kLimit);
  CHECK(all[7].content == "8");
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(queue.queue->enqueue(std::span(all).subspan(7), Delay::kNone, &error) == 5);
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == std::vector<std::string>{"2", "4", "6", "8", "10", "12"});
  CHECK(queue.figures().left_out == 6);
}

TEST_CASE("a sample that the disk rejects is not discarded, and is tried again") {
  const TemporaryFolder folder;
  MemoryFileSystem files;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.sampling_interval = 3;
  const TestQueue queue(options, {}, files);
  CHECK(queue.put(1, 3) == 3);
  auto all = messages(4, 6);
  files.before = [](std::uint64_t) { return Error{ErrorCode::kDenied, "Permission denied"}; };
  Error error;
  CHECK(queue.queue->enqueue(all, Delay::kNone, &error) == 2);
  CHECK(error.code == ErrorCode::kDenied);
  files.before = {};
  CHECK(queue.queue->enqueue(std::span(all).subspan(2), Delay::kNone, &error) == 1);
  CHECK(queue.figures().enqueued == 2);
  CHECK(queue.figures().discarded == 0);
  CHECK(queue.figures().left_out == 4);
}

TEST_CASE("a discarded sample counts, and is not tried again") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = sampled(3);
  options.size = 10;
  options.discard_mark = 2;
  options.discard_severity = 7;
  options.high_watermark.reset();
  options.low_watermark.reset();
  const TestQueue queue(options, consumer.function());
  const auto enqueue = [&](std::span<Message> some) {
    Error error;
    const std::size_t done = queue.queue->enqueue(some, Delay::kNone, &error);
    if (done < some.size()) CHECK(error.code == ErrorCode::kDiscarded);
    return done;
  };
  auto all = messages(1, 15);
  const std::span<Message> left(all);
  for (Message& message : left.subspan(6)) message.severity = 7;
  // 3 and 6 are kept.
  CHECK(enqueue(left) == 8);
  CHECK(enqueue(left.subspan(9)) == 2);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(enqueue(left.subspan(12)) == 3);
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == std::vector<std::string>{"3", "6", "15"});
  CHECK(queue.figures().discarded == 2);
  CHECK(queue.figures().left_out == 10);
}
