// The types of queues, the order of messages, and the results of a consumer.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

QueueOptions with_type(QueueType type, const TemporaryFolder& folder) {
  QueueOptions options = disk_assisted(folder);
  options.type = type;
  options.size = 2000;
  return options;
}

Delivery take_none(std::span<const Message> /*batch*/) {
  return {};
}

/// The TEXTS of PRODUCER, which begin with "PRODUCER:", without that.
std::vector<std::string> of(const std::vector<std::string>& texts, const std::string& producer) {
  std::vector<std::string> its;
  for (const std::string& text : texts) {
    if (text.starts_with(producer + ":")) its.push_back(text.substr(producer.size() + 1));
  }
  return its;
}

void produce(Queue& queue, const std::string& producer, int count) {
  for (const std::string& number : numbers(1, count)) {
    const std::string text = producer + ":" + number;
    while (!queue.enqueue({.content = text})) {
    }
  }
}

}  // namespace

TEST_CASE("direct: who enqueues consumes") {
  std::thread::id consumed_in;
  const TestQueue queue(with([](QueueOptions& o) { o.type = QueueType::kDirect; }),
                        [&](auto batch, const auto& /*stop*/) {
                          consumed_in = std::this_thread::get_id();
                          return Delivery{.delivered = batch.size()};
                        });
  CHECK(queue.queue->enqueue({.content = "a"}));
  CHECK(consumed_in == std::this_thread::get_id());
  CHECK(queue.figures().delivered == 1);
  CHECK(queue.figures().enqueued == 1);
  CHECK(queue.queue->wait_until_empty(0ms));
}

TEST_CASE("direct: what the consumer does not take was not taken") {
  TestConsumer consumer;
  consumer.answer({take_none,
                   [](auto /*batch*/) -> Delivery { throw std::runtime_error("no line"); },
                   [](auto /*batch*/) -> Delivery { throw 7; }});
  const TestQueue queue(with([](QueueOptions& o) { o.type = QueueType::kDirect; }),
                        consumer.function());
  for (int i = 0; i < 3; ++i) {
    const auto taken = queue.queue->enqueue({.content = "a"});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kBusy);
  }
  CHECK(queue.figures().enqueued == 0);
  CHECK(queue.queue->enqueue({.content = "b"}));
  CHECK(consumer.got() == std::vector<std::string>{"b"});
}

TEST_CASE("every type takes nothing more once it has ended") {
  for (const QueueType type : {QueueType::kDirect, QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    const TestConsumer consumer;
    const TestQueue queue(with_type(type, folder), consumer.function());
    queue.queue->shutdown();
    const auto taken = queue.queue->enqueue({.content = "a"});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kBusy);
    CHECK(consumer.begun() == 0);
  }
}

TEST_CASE("every type refuses a message that is too long, and takes those before it") {
  for (const QueueType type : {QueueType::kDirect, QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    const TestConsumer consumer;
    const TestQueue queue(with_type(type, folder), consumer.function());
    std::vector<Message> messages(3);
    messages[0].content = "a";
    messages[1].content.assign(kMaxContent + 1, 'x');
    messages[2].content = "b";
    quarry::base::Error error;
    CHECK(queue.queue->enqueue(messages, Delay::kNone, &error) == 1);
    CHECK(error.code == ErrorCode::kLimit);
    CHECK(queue.queue->wait_until_empty(60s));
    CHECK(consumer.got() == std::vector<std::string>{"a"});
  }
}

TEST_CASE("memory: without files, what is left at the end is lost and counted") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 5) == 5);
  const Ending ending = queue.queue->shutdown();
  CHECK(ending.lost == 5);
  CHECK(queue.figures().lost == 5);
}

TEST_CASE("memory: without files it never is disk-assisted, and a full one waits") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.timeout_enqueue = 0ms;
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  const TestQueue queue(options, consumer.function());
  CHECK(queue.put(1, 30) == 20);
  CHECK(queue.figures().da_runs == 0);
}

TEST_CASE("disk: every message is on disk when it is accepted, and no files are left at the end") {
  const TemporaryFolder folder;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(with_type(QueueType::kDisk, folder), consumer.function());
  REQUIRE(queue.put(1, 5) == 5);
  CHECK(queue.figures().on_disk == 5);
  CHECK(queue.figures().size == 0);
  CHECK(queue.figures().disk_bytes > 0);
  CHECK(files_in(folder).size() == 2);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 5));
  queue.queue->shutdown();
  CHECK(files_in(folder).empty());
}

TEST_CASE("disk: undelivered messages persist when the queue ends") {
  const TemporaryFolder folder;
  QueueOptions options = with_type(QueueType::kDisk, folder);
  options.timeout_shutdown = options.timeout_action_completion = 10ms;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    REQUIRE(queue.put(1, 9) == 9);
    consumer.let_pass(3);
    REQUIRE(consumer.wait_until_begun(4));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.saved == 6);
    CHECK(ending.lost == 0);
  }
  CHECK(rest_of(options) == numbers(4, 9));
}

TEST_CASE("with one worker each producer's order is kept, through changes of mode and a restart") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.dequeue_batch_size = 3;
  options.save_on_shutdown = true;
  options.max_file_size = 1024;
  TestConsumer consumer;
  for (int life = 0; life < 2; ++life) {
    const TestQueue queue(options, consumer.function());
    const std::string prefix(1, static_cast<char>('a' + life));
    std::thread one([&] { produce(*queue.queue, prefix + "1", 400); });
    std::thread two([&] { produce(*queue.queue, prefix + "2", 400); });
    for (int i = 0; i < 8; ++i) {
      consumer.close();
      const std::uint64_t runs = queue.figures().da_runs;
      eventually([&] { return queue.figures().da_runs > runs || queue.figures().enqueued >= 800; });
      consumer.let_pass(static_cast<std::size_t>(i));
      consumer.open();
      eventually([&] { return !queue.is_disk_assisted() || queue.figures().enqueued >= 800; });
    }
    one.join();
    two.join();
  }
  for (const std::string& text : rest_of(options)) {
    consumer.function()(std::vector<Message>{{.content = text}}, {});
  }
  const std::vector<std::string> got = consumer.got();
  CHECK(got.size() == 1600);
  for (const char* producer : {"a1", "a2", "b1", "b2"}) CHECK(of(got, producer) == numbers(1, 400));
}

TEST_CASE("with several workers everything is delivered once, from memory and from the disk") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    QueueOptions options = with_type(type, folder);
    options.size = 50;
    options.high_watermark = 30;
    options.low_watermark = 10;
    options.worker_threads = 3;
    options.worker_thread_minimum_messages = 5;
    options.dequeue_batch_size = 4;
    options.max_file_size = 1024;
    options.checkpoint_interval = 7;
    const TestConsumer consumer;
    const TestQueue queue(options, consumer.function());
    std::vector<std::thread> producers;
    for (const char* name : {"a", "b", "c", "d"}) {
      producers.emplace_back([&, name] { produce(*queue.queue, name, 250); });
    }
    for (std::thread& producer : producers) producer.join();
    CHECK(queue.queue->wait_until_empty(60s));
    std::vector<std::string> got = consumer.got();
    std::ranges::sort(got);
    CHECK(got.size() == 1000);
    CHECK(std::ranges::adjacent_find(got) == got.end());
  }
}

TEST_CASE(
    "a consumer gets at most queue.dequeuebatchsize messages at once, and no fewer if there") {
  TestConsumer consumer;
  consumer.close();
  QueueOptions options = small_options();
  options.dequeue_batch_size = 4;
  const TestQueue queue(options, consumer.function());
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 11) == 10);
  consumer.open();
  CHECK(consumer.wait_until_got(11));
  CHECK(consumer.batch_sizes() == std::vector<std::size_t>{1, 4, 4, 2});
}

TEST_CASE("a batch that is given back is delivered again unchanged, before anything later") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDisk}) {
    const TemporaryFolder folder;
    TestConsumer consumer;
    consumer.close();
    consumer.answer({take_none, take_none, [](auto /*batch*/) { return Delivery{.delivered = 2}; },
                     [](auto batch) { return Delivery{.delivered = batch.size()}; }, take_none});
    QueueOptions options = with_type(type, folder);
    options.dequeue_batch_size = 3;
    const TestQueue queue(options, consumer.function());
    // Together, so that the first batch is full.
    auto all = messages(1, 8);
    Error error;
    REQUIRE(queue.queue->enqueue(all, Delay::kNone, &error) == 8);
    consumer.open();
    CHECK(queue.queue->wait_until_empty(60s));
    CHECK(consumer.got() == numbers(1, 8));
    CHECK(consumer.batch_sizes().front() == 3);
    CHECK(queue.figures().delivered == 8);
    // Three full batches, and one message of another.
    CHECK(queue.figures().retried == 10);
  }
}

TEST_CASE(
    "a batch that is given back is not delivered again before retry_after, except at the end") {
  TestConsumer consumer;
  std::vector<std::chrono::steady_clock::time_point> times;
  const auto note = [&](std::chrono::milliseconds wait, std::size_t delivered) {
    return [&times, wait, delivered](auto /*batch*/) {
      times.push_back(std::chrono::steady_clock::now());
      return Delivery{.delivered = delivered, .retry_after = wait};
    };
  };
  consumer.answer({note(30ms, 0), note(0ms, 1), note(1h, 0)});
  QueueOptions options = small_options();
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_got(1));
  CHECK(times[1] - times[0] >= 30ms);
  REQUIRE(queue.put(2, 2) == 1);
  REQUIRE(consumer.wait_until_begun(3));
  // A message that waits for an hour is tried once more when the queue ends.
  CHECK(queue.queue->shutdown().lost == 0);
  CHECK(consumer.got() == numbers(1, 2));
}

TEST_CASE("after an exception of a consumer nothing of the batch counts as delivered") {
  TestConsumer consumer;
  consumer.answer({[](auto /*batch*/) -> Delivery { throw std::runtime_error("no line"); }});
  const TestQueue queue(small_options(), consumer.function());
  REQUIRE(queue.put(1, 2) == 2);
  CHECK(consumer.wait_until_got(2));
  CHECK(consumer.got() == numbers(1, 2));
  CHECK(queue.reports.count("no line") == 1);
  CHECK(queue.figures().retried >= 1);
}

TEST_CASE("an exception other than std::exception does not end the worker") {
  TestConsumer consumer;
  consumer.answer({[](auto /*batch*/) -> Delivery { throw 7; }});
  const TestQueue queue(small_options(), consumer.function());
  REQUIRE(queue.put(1, 1) == 1);
  CHECK(consumer.wait_until_got(1));
  CHECK(queue.reports.count("the consumer failed") == 1);
}

TEST_CASE("a second queue on the same files is refused, until the first is gone") {
  const TemporaryFolder folder;
  for (const QueueType type : {QueueType::kMemory, QueueType::kDisk}) {
    const QueueOptions options = with_type(type, folder);
    const TestConsumer consumer;
    {
      const TestQueue first(options, consumer.function());
      const auto second = Queue::start(options, consumer.function(), {});
      REQUIRE_FALSE(second);
      CHECK(second.error().code == ErrorCode::kBusy);
      CHECK(second.error().message.contains("q."));
      QueueOptions other = options;
      other.filename = "q2";
      CHECK(Queue::start(other, consumer.function(), {}));
    }
    CHECK(Queue::start(options, consumer.function(), {}));
  }
}
