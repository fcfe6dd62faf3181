// Tests queues whose consumer, disk or files fail, and queues that two processes use.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quarry/spool/spool.h"
#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;
using Operation = FaultyFiles::Operation;
namespace fs = std::filesystem;

namespace {

struct TroubleWorld : QueueWorld {
  TroubleWorld() { hurry(); }
};

/// A disk queue in a folder that a test can remove or replace.
struct GoneWorld : DiskWorld {
  GoneWorld() { options.spool_directory = folder / "spool"; }
};

/// A disk queue with at most 20 messages. One process writes it, and another one reads it.
struct TwoProcesses : DiskWorld {
  TwoProcesses() { options.timeout_enqueue = 0ms; }
  TestQueue feed() const { return {options, {}}; }
  SpoolLocation location() const { return {options.spool_directory, options.filename}; }
};

/// The process that reads the queue.
struct TestDrain {
  explicit TestDrain(const TwoProcesses& world) {
    auto opened = Drain::open(world.location(), world.options, {});
    REQUIRE_MESSAGE(opened, opened.error().message);
    drain = std::move(*opened);
  }

  std::vector<std::string> take(std::size_t max) const {
    std::vector<std::string> got;
    const auto messages = drain->next(max);
    REQUIRE_MESSAGE(messages, messages.error().message);
    for (const Message& message : *messages) got.push_back(message.content);
    drain->settle(got.size());
    return got;
  }

  std::unique_ptr<Drain> drain;
};

/// At each listing of a folder, enqueues another message until a limit is reached.
class FedFiles final : public FaultyFiles {
 public:
  explicit FedFiles(const TestQueue& feeder) : feeder_(feeder) {}
  int fed() const { return fed_; }

  quarry::base::Result<std::vector<std::string>> list(const fs::path& folder) override {
    if (fed_ < 1000) {
      ++fed_;
      feeder_.put(fed_, fed_);
    }
    return FaultyFiles::list(folder);
  }

 private:
  const TestQueue& feeder_;
  int fed_ = 0;
};

}  // namespace

TEST_CASE("consumers that keep their batches do not keep the queue from its disk") {
  for (const std::size_t workers : {1UZ, 4UZ}) {
    QueueWorld world;
    world.options.high_watermark = 18;
    world.options.low_watermark = 14;
    world.options.dequeue_batch_size = workers == 1 ? 15 : 4;
    world.options.timeout_enqueue = 300ms;
    world.add_workers(workers);
    const TestQueue queue = world.start();
    auto first = messages(1, 16);
    REQUIRE(queue.put(first) == 16);
    // The workers hold up to 16 messages, and the size of the queue is 20. The queue must still
    // reach the high watermark.
    REQUIRE(world.consumer.wait_until_begun(workers));
    CHECK(queue.put(17, 100) == 84);
    world.consumer.open();
    CHECK(queue.becomes_empty());
    CHECK(world.consumer.got().size() == 100);
    if (workers == 1) CHECK(world.consumer.got() == numbers(1, 100));
  }
}

TEST_CASE("a disk that fails is reported, and does not stop delivery from memory") {
  for (const Operation operation : {Operation::kAppend, Operation::kRead}) {
    TroubleWorld world;
    const TestQueue queue = world.start();
    world.files.fail(operation);
    REQUIRE(queue.put(1, 15) == 15);
    REQUIRE(eventually([&] { return world.files.failures() > 0; }));
    world.consumer.open();
    CHECK(world.consumer.wait_until_got(15));
    CHECK(world.consumer.got() == numbers(1, 15));
    CHECK(queue.reports.count("No space left on device") >= 1);
    CHECK(queue.reports.count("cannot use disk assistance") ==
          (operation == Operation::kRead ? 1 : 0));
  }
}

TEST_CASE("a repaired disk is used again, even if the queue in memory is full") {
  for (const Operation operation : {Operation::kRead, Operation::kAppend}) {
    TroubleWorld world;
    const TestQueue queue = world.start();
    world.files.fail(operation);
    REQUIRE(queue.put(1, 20) == 20);
    REQUIRE(eventually([&] { return world.files.failures() > 0; }));
    auto taken = std::async(std::launch::async, [&] { return queue.put(21, 40); });
    CHECK(taken.wait_for(20ms) == std::future_status::timeout);
    world.files.repair();
    CHECK(taken.get() == 20);
    world.consumer.open();
    CHECK(world.consumer.wait_until_got(40));
    CHECK(world.consumer.got() == numbers(1, 40));
  }
}

TEST_CASE_FIXTURE(DiskWorld,
                  "a disk queue that is full of delivered messages gets its space back") {
  options.max_file_size = options.max_disk_space = 1024;
  consumer.open();
  const TestQueue queue = start();
  for (int i = 1; i <= 10; ++i) {
    CHECK(queue.queue->enqueue({.content = std::string(300, 't')}));
    CHECK(queue.becomes_empty());
  }
}

TEST_CASE_FIXTURE(TroubleWorld,
                  "a helper that is full of delivered messages does not stop the queue") {
  options.max_file_size = options.max_disk_space = 1024;
  const TestQueue queue = start();
  for (int i = 0; i < 20; ++i) CHECK(queue.queue->enqueue({.content = std::string(120, 't')}));
  consumer.open();
  CHECK(consumer.wait_until_got(20));
}

TEST_CASE("a message that is too large for the disk is delivered from memory, or lost at the end") {
  for (const bool is_delivered : {true, false}) {
    TroubleWorld world;
    world.options.max_file_size = world.options.max_disk_space = 2048;
    world.options.save_on_shutdown = true;
    {
      const TestQueue queue = world.start();
      hold_first(queue, world.consumer);
      REQUIRE(queue.queue->enqueue({.content = std::string(5000, 'l')}));
      REQUIRE(queue.put(2, is_delivered ? 14 : 8) == (is_delivered ? 13 : 7));
      if (is_delivered) {
        world.consumer.open();
        CHECK(world.consumer.wait_until_got(15));
        continue;
      }
      const Ending how = queue.queue->shutdown();
      CHECK(how.lost == 1);
      CHECK(how.saved == 8);
      CHECK(queue.reports.count("message too long: 5000 bytes") == 1);
    }
    CHECK(world.rest_is(1, 8));
  }
}

TEST_CASE_FIXTURE(TroubleWorld,
                  "a disk that fails while the queue ends does not bring its workers back") {
  options.timeout_action_completion = 5s;
  options.timeout_shutdown = 0ms;
  const TestQueue queue = start();
  hold_first(queue, consumer);
  files.block(Operation::kRead);
  files.fail(Operation::kRead);
  REQUIRE(queue.put(2, 12) == 11);
  REQUIRE(files.wait_until_blocked());
  auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
  REQUIRE(eventually([&] { return queue.put(13, 13) == 0; }));
  files.unblock();
  REQUIRE(eventually([&] { return queue.reports.count("cannot use disk assistance") == 1; }));
  consumer.let_pass(1);
  const Ending how = ending.get();
  CHECK(how.consumers_left == 0);
  CHECK(consumer.begun() == 1);
  CHECK(how.saved + how.lost + consumer.got().size() == queue.figures().enqueued);
}

TEST_CASE_FIXTURE(QueueWorld,
                  "messages on disk are delivered first, even if they cannot be read at first") {
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  files.fail(Operation::kRead);
  consumer.open();
  const TestEngine queue = start_engine();
  CHECK(queue.put(4, 5) == 2);
  const std::size_t before = files.failures();
  // The queue retries the read operation and does not deliver the messages in memory.
  while (files.failures() == before) std::this_thread::yield();
  CHECK(consumer.got().empty());
  files.repair();
  CHECK(consumer.wait_until_got(5));
  CHECK(consumer.got() == numbers(1, 5));
}

// --- files that are removed or replaced -------------------------------------------------------

TEST_CASE_FIXTURE(
    GoneWorld, "a message is not written to a removed segment, and the next one goes to another") {
  const TestQueue queue(options, {});
  REQUIRE(queue.put(1, 3) == 3);
  REQUIRE(fs::remove(options.spool_directory / "q.00000001"));
  const auto taken = queue.queue->enqueue({.content = "4"});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kNotFound);
  CHECK(taken.error().message.contains("q.00000001: the file was removed or replaced"));
  CHECK(queue.put(5, 6) == 2);
  CHECK(fs::exists(options.spool_directory / "q.00000002"));
}

TEST_CASE_FIXTURE(
    GoneWorld,
    "nothing is accepted once the directory was moved, even if another one replaces it") {
  const TestQueue queue = start();
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 3) == 2);
  fs::rename(options.spool_directory, folder / "moved");
  fs::create_directory(options.spool_directory);
  for (int i = 0; i < 2; ++i) {
    const auto taken = queue.queue->enqueue({.content = "4"});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().message.contains("the folder was removed, moved or replaced"));
  }
  CHECK(fs::is_empty(options.spool_directory));
  consumer.open();
  CHECK(consumer.wait_until_got(3));
}

TEST_CASE_FIXTURE(GoneWorld, "memory delivers messages when the disk queue's directory is gone") {
  options.type = QueueType::kMemory;
  hurry();
  const TestQueue queue = start();
  fs::remove_all(options.spool_directory);
  REQUIRE(queue.put(1, 15) == 15);
  CHECK(eventually([&] { return queue.reports.count("cannot use disk assistance") == 1; }));
  consumer.open();
  CHECK(consumer.wait_until_got(15));
}

// --- two processes, here with an object for each ----------------------------------------------

TEST_CASE_FIXTURE(TwoProcesses, "queue.size limits the messages that wait for another process") {
  const TestQueue queue = feed();
  CHECK(queue.put(1, 30) == 20);
  const auto refused = queue.queue->enqueue({.content = "21"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kLimit);
  CHECK(queue.figures().full == 2);
  const TestDrain reader(*this);
  CHECK(reader.take(5) == numbers(1, 5));
  // With the next call, the reader stores its position, so that the writer knows that there is
  // space.
  CHECK(reader.take(0).empty());
  CHECK(queue.put(21, 40) == 5);
  CHECK(queue.figures().on_disk == 20);
  CHECK(reader.take(100) == numbers(6, 25));
}

TEST_CASE_FIXTURE(TwoProcesses, "a purge ends even if a producer enqueues without a pause") {
  options.size = 100000;
  const TestQueue queue = feed();
  REQUIRE(queue.put(1, 50) == 50);
  FedFiles fed(queue);
  const auto removed = purge_spool(location(), {}, fed);
  REQUIRE_MESSAGE(removed, removed.error().message);
  CHECK(*removed >= 50);
  CHECK(*removed < 60);
  CHECK(fed.fed() < 100);
  CHECK(TestDrain(*this).take(2000).size() == 50 + static_cast<std::size_t>(fed.fed()) - *removed);
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "a drain settles messages in order, and returns unsettled ones again") {
  REQUIRE(leave_on_disk(options, 1, 20) == 20);
  {
    const TestDrain reader(*this);
    REQUIRE(reader.drain->next(5)->size() == 5);
    REQUIRE(reader.drain->next(8)->size() == 8);
    reader.drain->settle(2);
    reader.drain->settle(5);
    CHECK(reader.drain->finish());
  }
  CHECK(TestDrain(*this).take(100) == numbers(8, 20));
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "delivery by another process makes room below queue.discardmark, too") {
  options.discard_mark = 10;
  options.discard_severity = 6;
  const TestQueue queue = feed();
  CHECK(queue.put(1, 12) == 10);
  const TestDrain reader(*this);
  CHECK(reader.take(3) == numbers(1, 3));
  CHECK(reader.take(1) == numbers(4, 4));
  CHECK(reader.take(0).empty());
  CHECK(queue.put(11, 30) == 4);
}

TEST_CASE("a message that can never fit into queue.maxdiskspace is refused for its size") {
  for (const QueueType type : {QueueType::kDisk, QueueType::kMemory}) {
    TwoProcesses world;
    world.options.type = type;
    world.options.max_file_size = world.options.max_disk_space = 1024;
    const std::size_t max = max_content(world.options);
    CHECK(max == 1024 - 44);
    const TestQueue queue = world.feed();
    CHECK(queue.queue->enqueue({.content = std::string(max, 'x')}));
    const auto refused = queue.queue->enqueue({.content = std::string(max + 1, 'x')});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kLimit);
    CHECK(refused.error().message.contains("queue.maxdiskspace"));
  }
}

TEST_CASE_FIXTURE(TwoProcesses,
                  "an enqueue-only queue does not undo the progress of another process") {
  const SpoolFiles spool(quarry::base::FileSystem::real(), options.spool_directory,
                         options.filename, false);
  const TestQueue queue = feed();
  REQUIRE(queue.put(1, 5) == 5);
  {
    const TestDrain reader(*this);
    CHECK(reader.take(3) == numbers(1, 3));
    REQUIRE(reader.drain->finish());
  }
  const auto before = spool.position();
  REQUIRE(before);
  queue.queue->shutdown();
  const auto after = spool.position();
  REQUIRE(after);
  CHECK(*after == *before);
}
