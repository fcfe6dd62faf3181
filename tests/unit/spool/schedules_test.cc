// Runs the queue's real code in all schedules of its threads within bounds (see
// scheduled_threading.h). A missing notification causes a deadlock. The tests compare the
// delivered and saved messages with the enqueued ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "all_schedules.h"
#include "memory_file_system.h"
#include "quarry/spool/queue.h"
#include "queue/disk_store.h"
#include "queue/engine.h"
#include "scheduled_threading.h"

using namespace quarry::spool;

namespace {

QueueOptions disk_assisted() {
  QueueOptions options;
  options.spool_directory = "/spool";
  options.filename = "q";
  options.size = 4;
  options.high_watermark = 2;
  options.low_watermark = 1;
  options.dequeue_batch_size = 1;
  options.save_on_shutdown = true;
  // By default, these timeouts do not expire. Some tests shorten them.
  options.timeout_enqueue = kEternal;
  options.timeout_shutdown = kEternal;
  options.timeout_action_completion = kEternal;
  options.timeout_worker_thread_shutdown = kEternal;
  return options;
}

/// Returns options for a disk queue, or for a queue in memory that is not disk-assisted.
QueueOptions of_type(QueueType type, std::size_t workers = 1) {
  QueueOptions options = disk_assisted();
  options.type = type;
  options.worker_threads = workers;
  options.worker_thread_minimum_messages = workers > 1 ? std::optional(1UZ) : std::nullopt;
  if (type == QueueType::kDisk) return options;
  options.filename.clear();
  options.high_watermark.reset();
  options.low_watermark.reset();
  return options;
}

/// A queue from its start to its end in one schedule.
struct Life {
  explicit Life(const QueueOptions& chosen, std::vector<std::string> on_disk = {})
      : options(chosen), given(std::move(on_disk)) {
    if (given.empty()) return;
    const auto store = DiskStore::open(files(), options, [](const std::string&) {});
    for (const std::string& content : given) {
      Message message{.content = content};
      quarry::base::Error error;
      schedule::require((*store)->push(std::span(&message, 1), &error) == 1, error.message);
    }
  }

  SpoolFiles files() { return {system, "/spool", "q", false}; }

  /// Starts a queue with the consumer WANTED. By default, the consumer accepts all batches.
  void start(Consumer wanted = {}) {
    Consumer consumer = [this, wanted](std::span<const Message> batch,
                                       const std::stop_token& stop) -> Delivery {
      ++consumers;
      schedule::require(consumers <= options.worker_threads, "too many consumers at a time");
      step();
      const Delivery delivery = wanted ? wanted(batch, stop) : Delivery{.delivered = batch.size()};
      for (const Message& message : batch.first(delivery.delivered)) {
        delivered.push_back(message.content);
      }
      --consumers;
      return delivery;
    };
    auto started = Queue::start(
        options, std::move(consumer), [](const std::string&) {}, system);
    schedule::require(started.has_value(), started ? "" : started.error().message);
    queue = std::move(*started);
  }

  void enqueue(const std::vector<std::string>& contents) {
    for (const std::string& content : contents) {
      if (queue->enqueue({.content = content})) given.push_back(content);
    }
  }
  void wait_until_empty() const {
    schedule::require(queue->wait_until_empty(kEternal), "not empty");
  }

  /// Shuts the queue down. Checks that all messages were delivered or saved, once each and in
  /// order.
  void end() {
    const Ending ending = queue->shutdown();
    queue.reset();
    schedule::require(ending.lost == 0, "messages are lost");
    auto all = delivered;
    if (DiskStore::is_there(files()).value()) {
      const auto store = DiskStore::open(files(), options, [](const std::string&) {});
      Batch batch = (*store)->take(100);
      for (const Message& message : batch.messages) all.push_back(message.content);
      schedule::require(batch.messages.size() == ending.saved, "not as many were saved as it says");
    }
    std::string text;
    for (const std::string& content : all) text += content + " ";
    if (options.worker_threads > 1) std::ranges::sort(all);
    schedule::require(all == given, "delivered and saved: " + text);
  }

  MemoryFileSystem system;
  QueueOptions options;
  std::vector<std::string> given;
  std::vector<std::string> delivered;
  std::size_t consumers = 0;
  std::unique_ptr<Queue> queue;
};

/// Returns a consumer that accepts every second batch.
Consumer reluctant() {
  return [calls = std::make_shared<int>(0)](std::span<const Message> batch,
                                            const std::stop_token&) -> Delivery {
    return {.delivered = ++*calls % 2 == 0 ? batch.size() : 0};
  };
}

}  // namespace

TEST_CASE("in all schedules: into disk-assisted mode, through it, and out of it or to the end") {
  struct Case {
    const char* name;
    int preemptions;
    int timeouts;
    std::vector<std::string> on_disk;
    std::vector<std::string> enqueued;
    bool waits = true;  // whether to wait until the memory is empty
    std::vector<std::string> later = {};
    bool is_reluctant = false;
  };
  const int one_or_two = is_thorough() ? 2 : 1;
  const std::vector<Case> cases{
      {"in, through and out", one_or_two, 0, {}, {"a", "b", "c"}},
      {"the end in the middle", 2, 0, {}, {"a", "b", "c"}, false},
      {"files on the disk, and new messages", 2, 0, {"a", "b"}, {"c"}},
      {"idle workers that ended are started again", 1, one_or_two, {"a"}, {"b"}, true, {"c"}},
      {"the worker that would notice the end of the mode has ended", 1, one_or_two, {"a", "b"}, {}},
      {"a consumer that asks for retries", one_or_two, 0, {}, {"a", "b", "c"}, true, {}, true},
      {"a consumer that asks for retries, and the end",
       2,
       0,
       {},
       {"a", "b", "c"},
       false,
       {},
       true}};
  for (const Case& one : cases) {
    CAPTURE(one.name);
    QueueOptions options = disk_assisted();
    if (one.timeouts > 0) options.timeout_worker_thread_shutdown = milliseconds(10);
    in_all(one.preemptions, one.timeouts, [&] {
      Life life(options, one.on_disk);
      life.start(one.is_reluctant ? reluctant() : Consumer());
      life.enqueue(one.enqueued);
      if (one.waits) {
        life.wait_until_empty();
        schedule::require(!life.queue->statistics().is_disk_assisted, "still disk-assisted");
      }
      life.enqueue(one.later);
      life.end();
    });
  }
}

TEST_CASE("in all schedules: producers while the queue ends") {
  in_all(2, 0, [] {
    Life life(disk_assisted());
    life.start();
    life.enqueue({"a"});
    bool is_taken = false;
    Thread other([&] { is_taken = life.queue->enqueue({.content = "b"}).has_value(); });
    const Ending ending = life.queue->shutdown();
    other.join();
    if (is_taken) life.given.push_back("b");
    schedule::require(ending.lost == 0, "messages are lost");
    life.end();
  });
}

TEST_CASE("in all schedules: two threads that end a queue that has just started") {
  in_all(2, 0, [] {
    Life life(disk_assisted(), {"a"});
    life.start();
    Thread other([&] { life.queue->shutdown(); });
    const Ending ending = life.queue->shutdown();
    other.join();
    schedule::require(ending.lost == 0, "messages are lost");
    life.end();
  });
}

TEST_CASE("in all schedules: two workers, the high water mark again and again" *
          doctest::test_suite("long")) {
  QueueOptions options = disk_assisted();
  options.worker_threads = 2;
  options.worker_thread_minimum_messages = 1;
  in_all(0, 0, [&] {
    Life life(options);
    life.start();
    life.enqueue({"a", "b", "c", "d"});
    life.wait_until_empty();
    life.end();
  });
}

TEST_CASE("in all schedules: a disk queue with two producers") {
  in_all(2, 0, [&] {
    Life life(of_type(QueueType::kDisk));
    life.start();
    Thread other(
        [&] { schedule::require(life.queue->enqueue({.content = "a"}).has_value(), "not taken"); });
    schedule::require(life.queue->enqueue({.content = "b"}).has_value(), "not taken");
    other.join();
    life.wait_until_empty();
    schedule::require(life.delivered.size() == 2, "not delivered");
    life.given = life.delivered;
    life.end();
  });
}

TEST_CASE("in all schedules: a message arrives at a disk queue while it ends") {
  in_all(3, 0, [&] {
    Life life(of_type(QueueType::kDisk));
    life.start();
    bool is_taken = false;
    Thread other([&] { is_taken = life.queue->enqueue({.content = "a"}).has_value(); });
    const Ending ending = life.queue->shutdown();
    const auto delivered = life.delivered.size();
    other.join();
    schedule::require(life.delivered.size() == delivered, "delivered after the end");
    schedule::require(ending.saved + delivered == (is_taken ? 1 : 0), "it is not counted");
    if (is_taken) life.given.push_back("a");
    life.end();
  });
}

TEST_CASE("in all schedules: a queue that ends goes on waiting before it tries again") {
  QueueOptions options = of_type(QueueType::kMemory);
  options.timeout_shutdown = milliseconds(100);
  for (const milliseconds pause : {milliseconds(30), milliseconds(0), milliseconds(3600000)}) {
    CAPTURE(pause.count());
    in_all(2, 1, [&] {
      Life life(options);
      int calls = 0;
      life.start([&](std::span<const Message>, const std::stop_token&) -> Delivery {
        ++calls;
        return {.delivered = 0, .retry_after = pause};
      });
      life.enqueue({"a"});
      const Ending ending = life.queue->shutdown();
      schedule::require(ending.lost == 1 && ending.consumers_left == 0, "it is not lost");
      // The limit includes retries before the shutdown, retries during it, and retries after early
      // timeouts.
      schedule::require(calls <= 15, "called " + std::to_string(calls) + " times");
    });
  }
}

TEST_CASE("in all schedules: a worker waits for the minimum batch size, but not at the end") {
  QueueOptions options = of_type(QueueType::kDisk);
  options.dequeue_batch_size = 4;
  options.min_dequeue_batch_size = 3;
  options.min_dequeue_batch_timeout = milliseconds(1000);
  in_all(2, 0, [&] {
    Life life(options);
    const TimePoint start = now();
    std::vector<std::size_t> sizes;
    life.start([&](std::span<const Message> batch, const std::stop_token&) -> Delivery {
      sizes.push_back(batch.size());
      return {.delivered = batch.size()};
    });
    life.enqueue({"a", "b", "c"});
    life.wait_until_empty();
    schedule::require(sizes == std::vector<std::size_t>{3}, "it did not wait");
    schedule::require(now() == start, "it waited for the time-out");
    life.enqueue({"d"});
    life.end();
    schedule::require(now() == start, "the end waited for the time-out");
    schedule::require(life.delivered.size() == 4, "not all were delivered");
  });
}

TEST_CASE("in all schedules: two workers, messages that are discarded on delivery, and the end") {
  QueueOptions options = of_type(QueueType::kDisk, 2);
  options.dequeue_batch_size = 2;
  options.discard_mark = 2;
  options.discard_severity = 7;
  in_all(1, 0, [&] {
    Life life(options);
    std::uint64_t calls = 0;
    life.start([&](std::span<const Message> batch, const std::stop_token&) -> Delivery {
      return {.delivered = ++calls == 2 ? 0 : batch.size()};
    });
    for (const std::uint8_t severity : std::initializer_list<std::uint8_t>{7, 7, 0, 0}) {
      (void)life.queue->enqueue({.content = std::to_string(severity), .severity = severity});
    }
    const Ending ending = life.queue->shutdown();
    const Statistics figures = life.queue->statistics();
    schedule::require(ending.saved + ending.lost == 0, "not all were delivered or discarded");
    schedule::require(figures.enqueued + figures.discarded == 4, "not all are counted");
    schedule::require(figures.delivered + figures.discarded_queued == figures.enqueued,
                      "delivered and discarded are not all");
    schedule::require(std::ranges::count(life.delivered, "0") == 2, "what matters is discarded");
    life.queue.reset();
    schedule::require(!DiskStore::is_there(life.files()).value(), "files are left");
  });
}

TEST_CASE("in all schedules: outside its hours a queue waits for them") {
  QueueOptions options = of_type(QueueType::kMemory);
  options.dequeue_time_begin = 1;
  options.dequeue_time_end = 2;
  const auto whole = complete(options);
  REQUIRE(whole);
  in_all(3, 2, [&] {
    using std::chrono::seconds;
    constexpr seconds kBegin{3600};
    MemoryFileSystem system;
    const TimePoint start = now();
    std::vector<seconds> times;
    const auto passed = [&] { return std::chrono::duration_cast<seconds>(now() - start); };
    const auto engine = std::make_shared<Engine>(EngineSetup{
        .options = *whole,
        .consumer = [&](std::span<const Message> batch, const std::stop_token&) -> Delivery {
          times.push_back(passed());
          return {.delivered = batch.size()};
        },
        .reporter = [](const std::string&) {},
        .figures = std::make_shared<Figures>(),
        .files = SpoolFiles(system, "/spool", "q", false),
        .local_time =
            [&] {
              std::tm local{};
              local.tm_hour = static_cast<int>(passed().count() / 3600 % 24);
              local.tm_min = static_cast<int>(passed().count() / 60 % 60);
              local.tm_sec = static_cast<int>(passed().count() % 60);
              return local;
            }});
    engine->start(false);
    Message message{.content = "a"};
    quarry::base::Error error;
    engine->enqueue(std::span(&message, 1), Delay::kNone, &error);
    schedule::require(engine->wait_until_empty(kEternal), "not empty");
    schedule::require(times.size() == 1 && times[0] >= kBegin && times[0] < kBegin + seconds(61),
                      "not delivered when its hour began");
    // At shutdown, a queue without a disk delivers the message outside of the queue's hours.
    schedule::advance(std::chrono::hours(3));
    message.content = "b";
    engine->enqueue(std::span(&message, 1), Delay::kNone, &error);
    schedule::require(engine->shut_down().lost == 0, "lost at the end");
    schedule::require(times.size() == 2, "not delivered at the end");
  });
}

TEST_CASE("in all schedules: a consumer that does not end is abandoned, and its message saved") {
  QueueOptions options = disk_assisted();
  options.timeout_action_completion = milliseconds(10);
  in_all(2, 0, [&] {
    schedule::leave_detached();
    Life life(options);
    // The abandoned thread still uses the mutex after the end of the scenario.
    auto mutex = std::make_shared<Mutex>();
    auto never = std::make_shared<Condition>();
    life.start([mutex, never](std::span<const Message>, const std::stop_token&) -> Delivery {
      std::unique_lock lock(*mutex);
      never->wait(lock);
      return {};
    });
    life.enqueue({"a", "b", "c"});
    const Ending ending = life.queue->shutdown();
    schedule::require(ending.consumers_left <= 1, "too many were abandoned");
    schedule::require(ending.saved == 3, "not all were saved");
    life.end();
  });
}
