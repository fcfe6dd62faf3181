// Tests the types of queues, and the deliveries to the consumer.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
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

using Answer = TestConsumer::Answer;
Answer takes(std::size_t count) {
  return [count](auto /*batch*/) { return Delivery{.delivered = count}; };
}
const Answer kThrows = [](auto /*batch*/) -> Delivery { throw std::runtime_error("no line"); };
const Answer kThrowsNumber = [](auto /*batch*/) -> Delivery { throw 7; };

/// A queue of TYPE with an open consumer. A queue in memory is not disk-assisted.
struct TypeWorld : QueueWorld {
  explicit TypeWorld(QueueType type = QueueType::kDirect) {
    options.type = type;
    if (type == QueueType::kMemory) options.filename.clear();
    consumer.open();
  }
  /// Configures the queue to discard debug messages above MARK, and makes the consumer block.
  void discard_above(std::size_t mark) {
    options.discard_mark = mark;
    options.discard_severity = kDebug;
    options.dequeue_batch_size = 5;
    consumer.close();
  }
};
constexpr std::array kWithStore = {QueueType::kMemory, QueueType::kDisk};
constexpr std::array kAllTypes = {QueueType::kDirect, QueueType::kMemory, QueueType::kDisk};

/// Enqueues the numbers FIRST to LAST with SEVERITY.
void put(const TestQueue& queue, int first, int last, std::uint8_t severity) {
  for (std::string& text : numbers(first, last)) {
    REQUIRE(queue.queue->enqueue({.content = std::move(text), .severity = severity}));
  }
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

std::tm at(int hour, int minute = 0, int second = 0) {
  std::tm local{};
  local.tm_hour = hour;
  local.tm_min = minute;
  local.tm_sec = second;
  return local;
}

}  // namespace

TEST_CASE_FIXTURE(TypeWorld, "direct: the producer's thread calls the consumer") {
  std::thread::id consumed_in;
  const TestQueue queue(options, [&](auto batch, const auto& /*stop*/) {
    consumed_in = std::this_thread::get_id();
    return Delivery{.delivered = batch.size()};
  });
  CHECK(queue.put(1, 1) == 1);
  CHECK(consumed_in == std::this_thread::get_id());
  CHECK(queue.figures().delivered == 1);
  CHECK(queue.figures().enqueued == 1);
  CHECK(queue.queue->wait_until_empty(0ms));
}

TEST_CASE_FIXTURE(TypeWorld,
                  "direct: messages that the consumer does not accept are not enqueued") {
  consumer.answer({takes(0), kThrows, kThrowsNumber});
  const TestQueue queue = start();
  for (int i = 0; i < 3; ++i) {
    const auto taken = queue.queue->enqueue({.content = "a"});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kBusy);
  }
  CHECK(queue.figures().enqueued == 0);
  CHECK(queue.put(1, 1) == 1);
  CHECK(consumer.got() == numbers(1, 1));
}

TEST_CASE("every type refuses a message that is too long, or that comes after its end") {
  for (const QueueType type : kAllTypes) {
    TypeWorld world(type);
    const TestQueue queue = world.start();
    std::vector<Message> three{
        {.content = "a"}, {.content = std::string(kMaxContent + 1, 'x')}, {.content = "b"}};
    Error error;
    CHECK(queue.put(three, &error) == 1);
    CHECK(error.code == ErrorCode::kLimit);
    CHECK(queue.becomes_empty());
    queue.queue->shutdown();
    const auto late = queue.queue->enqueue({.content = "c"});
    REQUIRE_FALSE(late);
    CHECK(late.error().code == ErrorCode::kBusy);
    CHECK(world.consumer.got() == std::vector<std::string>{"a"});
  }
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "memory: a full queue without files waits, and loses the rest at the end") {
  options.timeout_enqueue = 0ms;
  const TestQueue queue = start();
  CHECK(queue.put(1, 30) == 20);
  CHECK(queue.figures().da_runs == 0);
  CHECK(queue.queue->shutdown().lost == 20);
  CHECK(queue.figures().lost == 20);
}

TEST_CASE_FIXTURE(DiskWorld,
                  "disk: an accepted message is on disk, and no files are left at the end") {
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 5) == 5);
  CHECK(queue.figures().on_disk == 5);
  CHECK(queue.figures().size == 0);
  CHECK(queue.figures().disk_bytes > 0);
  CHECK(files_in(folder).size() == 2);
  consumer.open();
  CHECK(queue.becomes_empty());
  CHECK(consumer.got() == numbers(1, 5));
  queue.queue->shutdown();
  CHECK(files_in(folder).empty());
}

TEST_CASE("disk: undelivered messages persist, whether the consumer heeds its stop token or not") {
  for (const auto stop : {TestConsumer::Stop::kHeeded, TestConsumer::Stop::kIgnored}) {
    DiskWorld world;
    world.hurry();
    TestConsumer consumer(stop);
    consumer.close();
    {
      const TestQueue queue(world.options, consumer.function());
      REQUIRE(queue.put(1, 9) == 9);
      consumer.let_pass(3);
      REQUIRE(consumer.wait_until_begun(4));
      const Ending ending = queue.queue->shutdown();
      CHECK(ending.saved == 6);
      CHECK(ending.lost == 0);
      // Do not check the other case, because on a slow machine a consumer can be late although it
      // heeds its stop token.
      if (stop == TestConsumer::Stop::kIgnored) CHECK(ending.consumers_left == 1);
    }
    CHECK(world.rest_is(4, 9));
    consumer.open();
    CHECK(consumer.wait_until_forgotten());
  }
}

TEST_CASE("severity and content are unchanged, empty and large, from the disk") {
  DiskWorld world;
  std::vector<Message> got;
  std::vector<Message> sent{{.content = "", .severity = 0},
                            {.content = std::string("\0\n\xff", 3), .severity = 7},
                            {.content = std::string(3 << 20, 'l'), .severity = 3},
                            {.content = "end"}};
  const TestQueue queue(world.options, [&](std::span<const Message> batch, const auto& /*stop*/) {
    got.insert(got.end(), batch.begin(), batch.end());
    return Delivery{.delivered = batch.size()};
  });
  for (const Message& one : sent) REQUIRE(queue.queue->enqueue(one));
  CHECK(queue.becomes_empty());
  CHECK(got == sent);
}

TEST_CASE("a second queue on the same files is refused until the first has ended") {
  for (const QueueType type : kWithStore) {
    QueueWorld world;
    world.options.type = type;
    const auto start = [&](const QueueOptions& options) {
      return Queue::start(options, world.consumer.function(), {});
    };
    {
      const TestQueue first = world.start();
      const auto second = start(world.options);
      REQUIRE_FALSE(second);
      CHECK(second.error().code == ErrorCode::kBusy);
      CHECK(second.error().message.contains("q."));
      QueueOptions other = world.options;
      other.filename = "q2";
      CHECK(start(other));
    }
    CHECK(start(world.options));
  }
}

// --- batches ----------------------------------------------------------------------------------

TEST_CASE_FIXTURE(MemoryWorld,
                  "a consumer gets as many as there are, up to queue.dequeuebatchsize") {
  options.dequeue_batch_size = 4;
  const TestQueue queue = start();
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 11) == 10);
  consumer.open();
  CHECK(consumer.wait_until_got(11));
  CHECK(consumer.batch_sizes() == std::vector<std::size_t>{1, 4, 4, 2});
}

TEST_CASE("a batch that is given back is delivered again unchanged, before anything later") {
  for (const QueueType type : kWithStore) {
    TypeWorld world(type);
    world.consumer.close();
    world.consumer.answer({takes(0), takes(0), takes(2), takes(9), takes(0)});
    world.options.dequeue_batch_size = 3;
    const TestQueue queue = world.start();
    // The messages are enqueued in one call, so the first batch is full.
    auto all = messages(1, 8);
    REQUIRE(queue.put(all) == 8);
    world.consumer.open();
    CHECK(queue.becomes_empty());
    CHECK(world.consumer.got() == numbers(1, 8));
    CHECK(world.consumer.batch_sizes().front() == 3);
    CHECK(queue.figures().delivered == 8);
    // The consumer returned three full batches and one single message, so ten messages were
    // retried.
    CHECK(queue.figures().retried == 10);
  }
}

TEST_CASE_FIXTURE(MemoryWorld,
                  "a batch that is given back waits for retry_after, except at the end") {
  options.timeout_shutdown = options.timeout_action_completion = 5s;
  std::vector<std::chrono::steady_clock::time_point> times;
  const auto note = [&](milliseconds wait, std::size_t delivered) {
    return [&times, wait, delivered](auto /*batch*/) {
      times.push_back(std::chrono::steady_clock::now());
      return Delivery{.delivered = delivered, .retry_after = wait};
    };
  };
  consumer.answer({note(30ms, 0), note(0ms, 1), note(1h, 0)});
  consumer.open();
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 1) == 1);
  REQUIRE(consumer.wait_until_got(1));
  CHECK(times[1] - times[0] >= 30ms);
  REQUIRE(queue.put(2, 2) == 1);
  REQUIRE(consumer.wait_until_begun(3));
  // A message that waits for an hour is tried once more at shutdown.
  CHECK(queue.queue->shutdown().lost == 0);
  CHECK(consumer.got() == numbers(1, 2));
}

TEST_CASE("after an exception of a consumer nothing of the batch counts as delivered") {
  for (const Answer& answer : {kThrows, kThrowsNumber}) {
    MemoryWorld world;
    world.consumer.answer({answer});
    world.consumer.open();
    const TestQueue queue = world.start();
    REQUIRE(queue.put(1, 2) == 2);
    CHECK(world.consumer.wait_until_got(2));
    CHECK(world.consumer.got() == numbers(1, 2));
    CHECK(queue.reports.count("the consumer failed") == 1);
    CHECK(queue.figures().retried >= 1);
  }
}

TEST_CASE_FIXTURE(
    MemoryWorld,
    "a batch below queue.mindequeuebatchsize waits for its timeout, but not at the end") {
  options.timeout_shutdown = options.timeout_action_completion = 5s;
  consumer.open();
  options.dequeue_batch_size = 10;
  options.min_dequeue_batch_size = 5;
  options.min_dequeue_batch_timeout = 30ms;
  {
    const TestQueue queue = start();
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(queue.put(1, 1) == 1);
    REQUIRE(consumer.wait_until_got(1));
    CHECK(std::chrono::steady_clock::now() - begin >= 30ms);
  }
  options.min_dequeue_batch_timeout = 1h;
  const TestQueue queue = start();
  REQUIRE(queue.put(2, 6) == 5);
  REQUIRE(consumer.wait_until_got(6));
  REQUIRE(queue.put(7, 8) == 2);
  CHECK(queue.queue->shutdown().lost == 0);
  CHECK(consumer.batch_sizes() == std::vector<std::size_t>{1, 5, 2});
}

TEST_CASE_FIXTURE(QueueWorld,
                  "a worker that waits for a larger batch makes way for disk assistance") {
  options.dequeue_batch_size = options.min_dequeue_batch_size = 15;
  options.min_dequeue_batch_timeout = 1h;
  consumer.open();
  const TestQueue queue = start();
  REQUIRE(queue.put(1, 30) == 30);
  CHECK(consumer.wait_until_got(15));
  CHECK(consumer.batch_sizes().front() >= 10);
}

// --- discarding on delivery -------------------------------------------------------------------

TEST_CASE("above queue.discardmark the least severe queued messages are discarded") {
  struct Put {
    int first;
    int last;
    std::uint8_t severity;
  };
  struct Case {
    const char* name;
    std::size_t mark;
    std::vector<Put> puts;  // after message 1, which the consumer holds
    std::vector<std::string> got;
    std::uint64_t discarded;
    std::vector<Answer> answers = {};
  };
  const std::vector<Case> cases{
      // After the delivery of message 1, eleven messages are left. Three of them are discarded, so
      // that their number is below the mark of 9.
      {"down to the mark", 9, {{2, 5, kDebug}, {6, 12, kAlert}}, joined({"1"}, numbers(5, 12)), 3},
      {"the rest of the batch is given back and delivered in order",
       6,
       {{2, 2, kAlert}, {3, 3, kDebug}, {4, 4, kAlert}, {5, 5, kDebug}, {6, 12, kAlert}},
       joined({"1", "2", "4"}, numbers(6, 12)),
       2,
       {takes(1), takes(1), takes(0)}},
      {"a whole batch", 7, {{2, 6, kDebug}, {7, 18, kAlert}}, joined({"1"}, numbers(7, 18)), 5}};
  for (const Case& one : cases) {
    for (const QueueType type : kWithStore) {
      CAPTURE(one.name);
      TypeWorld world(type);
      world.discard_above(one.mark);
      world.consumer.answer(one.answers);
      const TestQueue queue = world.start();
      put(queue, 1, 1, kAlert);
      REQUIRE(world.consumer.wait_until_begun(1));
      for (const auto& [first, last, severity] : one.puts) put(queue, first, last, severity);
      world.consumer.open();
      CHECK(queue.becomes_empty());
      CHECK(world.consumer.got() == one.got);
      CHECK(queue.figures().discarded_queued == one.discarded);
      CHECK(queue.figures().discarded == 0);
      CHECK(queue.figures().delivered == one.got.size());
      queue.queue->shutdown();
      CHECK(files_in(world.folder).empty());
    }
  }
}

TEST_CASE("messages on the disk of a disk-assisted queue are not discarded") {
  TypeWorld world(QueueType::kDisk);
  world.discard_above(6);
  world.options.type = QueueType::kMemory;
  const TestQueue queue = world.start();
  put(queue, 1, 1, kAlert);
  REQUIRE(world.consumer.wait_until_begun(1));
  put(queue, 2, 5, kDebug);
  put(queue, 6, 15, kAlert);
  REQUIRE(eventually([&] { return queue.figures().on_disk >= 6; }));
  world.consumer.open();
  CHECK(queue.becomes_empty());
  CHECK(world.consumer.got() == numbers(1, 15));
  CHECK(queue.figures().discarded_queued == 0);
}

// --- hours of the day -------------------------------------------------------------------------

TEST_CASE("hours of the day, also across midnight, and the time until they begin") {
  struct Case {
    int begin;
    int end;
    std::tm local;
    std::chrono::seconds left;
  };
  for (const auto& [begin, end, local, left] :
       {Case{0, kNoDequeueTimeEnd, at(3), 0s}, Case{8, kNoDequeueTimeEnd, at(3), 0s},
        Case{4, 22, at(4), 0s}, Case{4, 22, at(21, 59, 59), 0s}, Case{4, 22, at(22), 6h},
        Case{4, 22, at(3, 30, 15), 29min + 45s}, Case{22, 4, at(22), 0s},
        Case{22, 4, at(3, 59, 59), 0s}, Case{22, 4, at(4), 18h}, Case{22, 4, at(21, 59, 59), 1s},
        Case{8, 24, at(23, 59, 59), 0s}, Case{8, 24, at(0), 8h}, Case{22, 0, at(23), 0s},
        Case{22, 0, at(0), 22h}, /* a leap second */ Case{4, 22, at(3, 59, 60), 1s}}) {
    CAPTURE(begin);
    CAPTURE(end);
    CAPTURE(local.tm_hour);
    QueueOptions options;
    options.dequeue_time_begin = begin;
    options.dequeue_time_end = end;
    CHECK(until_window(options, local) == left);
  }
}

// --- sampling ---------------------------------------------------------------------------------

TEST_CASE("with queue.samplinginterval one message per interval is taken, one by one or together") {
  for (const QueueType type : {QueueType::kMemory, QueueType::kDirect}) {
    TypeWorld world(type);
    world.options.sampling_interval = 3;
    const TestQueue queue = world.start();
    CHECK(queue.put(1, 4) == 4);
    auto together = messages(5, 13);
    CHECK(queue.put(together) == 9);
    CHECK(queue.put(14, 16) == 3);
    CHECK(queue.becomes_empty());
    CHECK(world.consumer.got() == std::vector<std::string>{"3", "6", "9", "12", "15"});
    CHECK(queue.figures().enqueued == 5);
    CHECK(queue.figures().left_out == 11);
  }
}

TEST_CASE_FIXTURE(MemoryWorld, "a refused sample is still a sample when it is retried") {
  options.sampling_interval = 2;
  options.size = 3;
  options.high_watermark.reset();
  options.low_watermark.reset();
  options.timeout_enqueue = 0ms;
  const TestQueue queue = start();
  auto all = messages(1, 12);
  Error error;
  // The queue accepts the messages 2, 4 and 6, and message 8 does not fit.
  CHECK(queue.put(all, &error) == 7);
  CHECK(error.code == ErrorCode::kLimit);
  CHECK(all[7].content == "8");
  consumer.open();
  CHECK(queue.becomes_empty());
  CHECK(queue.put(std::span(all).subspan(7)) == 5);
  CHECK(queue.becomes_empty());
  CHECK(consumer.got() == std::vector<std::string>{"2", "4", "6", "8", "10", "12"});
  CHECK(queue.figures().left_out == 6);
}

TEST_CASE_FIXTURE(DiskWorld, "a sample that the disk rejects is not discarded, and is retried") {
  MemoryFileSystem system;
  options.sampling_interval = 3;
  const TestQueue queue(options, {}, system);
  CHECK(queue.put(1, 3) == 3);
  auto all = messages(4, 6);
  system.before = [](std::uint64_t) { return Error{ErrorCode::kDenied, "Permission denied"}; };
  Error error;
  CHECK(queue.put(all, &error) == 2);
  CHECK(error.code == ErrorCode::kDenied);
  system.before = {};
  CHECK(queue.put(std::span(all).subspan(2)) == 1);
  CHECK(queue.figures().enqueued == 2);
  CHECK(queue.figures().discarded == 0);
  CHECK(queue.figures().left_out == 4);
}

TEST_CASE_FIXTURE(MemoryWorld, "a discarded sample counts, and is not retried") {
  options.sampling_interval = 3;
  options.size = 10;
  options.discard_mark = 2;
  options.discard_severity = 7;
  options.high_watermark.reset();
  options.low_watermark.reset();
  const TestQueue queue = start();
  const auto enqueue = [&](std::span<Message> some) {
    Error error;
    const std::size_t done = queue.put(some, &error);
    if (done < some.size()) CHECK(error.code == ErrorCode::kDiscarded);
    return done;
  };
  auto all = messages(1, 15);
  const std::span<Message> left(all);
  for (Message& message : left.subspan(6)) message.severity = 7;
  // The queue accepts the messages 3 and 6, and discards message 9.
  CHECK(enqueue(left) == 8);
  CHECK(enqueue(left.subspan(9)) == 2);
  consumer.open();
  CHECK(queue.becomes_empty());
  CHECK(enqueue(left.subspan(12)) == 3);
  CHECK(queue.becomes_empty());
  CHECK(consumer.got() == std::vector<std::string>{"3", "6", "15"});
  CHECK(queue.figures().discarded == 2);
  CHECK(queue.figures().left_out == 10);
}
