// A queue whose consumer or disk fails, and how it recovers.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using What = HeldUpFiles::What;

namespace {

QueueOptions hurried(const TemporaryFolder& folder) {
  QueueOptions options = disk_assisted(folder);
  options.timeout_shutdown = options.timeout_action_completion = 20ms;
  return options;
}

}  // namespace

TEST_CASE("a consumer that keeps a large batch does not keep the queue from its disk") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.high_watermark = 18;
  options.low_watermark = 14;
  options.dequeue_batch_size = 15;
  options.timeout_enqueue = 300ms;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  hold_first(queue, consumer);
  REQUIRE(queue.put(2, 16) == 15);
  consumer.let_pass(1);
  // It has fifteen: with those the queue must not be full before the high watermark is reached.
  REQUIRE(consumer.wait_until_begun(2));
  CHECK(queue.put(17, 100) == 84);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got() == numbers(1, 100));
}

TEST_CASE("many consumers that keep their batches do not keep the queue from its disk") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.high_watermark = 18;
  options.low_watermark = 14;
  options.dequeue_batch_size = 4;
  options.worker_threads = 4;
  options.worker_thread_minimum_messages = 1;
  options.timeout_enqueue = 300ms;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  std::vector<Message> first;
  for (const std::string& text : numbers(1, 16)) first.push_back({.content = text});
  quarry::base::Error error;
  REQUIRE(queue.queue->enqueue(first, Delay::kNone, &error) == 16);
  // Four have four each.
  REQUIRE(consumer.wait_until_begun(4));
  CHECK(queue.put(17, 100) == 84);
  consumer.open();
  CHECK(queue.queue->wait_until_empty(60s));
  CHECK(consumer.got().size() == 100);
}

TEST_CASE("a disk that rejects everything does not stop delivery from memory") {
  const TemporaryFolder folder;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(hurried(folder), consumer.function(), files);
  files.refuse(What::kAppend);
  REQUIRE(queue.put(1, 15) == 15);
  REQUIRE(eventually([&] { return files.refused() > 0; }));
  consumer.open();
  CHECK(consumer.wait_until_got(15));
  CHECK(consumer.got() == numbers(1, 15));
  CHECK(queue.reports.count("No space left on device") >= 1);
}

TEST_CASE("an unusable disk is reported once, and the queue continues in memory") {
  const TemporaryFolder folder;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(hurried(folder), consumer.function(), files);
  files.refuse(What::kRead);
  REQUIRE(queue.put(1, 15) == 15);
  REQUIRE(eventually([&] { return files.refused() > 0; }));
  consumer.open();
  CHECK(consumer.wait_until_got(15));
  CHECK(consumer.got() == numbers(1, 15));
  CHECK(queue.reports.count("no disk assistance") == 1);
}

TEST_CASE("a repaired disk is used again, even if the queue in memory is full") {
  for (const What what : {What::kRead, What::kAppend}) {
    const TemporaryFolder folder;
    HeldUpFiles files;
    TestConsumer consumer;
    consumer.close();
    const TestQueue queue(hurried(folder), consumer.function(), files);
    files.refuse(what);
    REQUIRE(queue.put(1, 20) == 20);
    REQUIRE(eventually([&] { return files.refused() > 0; }));
    auto taken = std::async(std::launch::async, [&] { return queue.put(21, 40); });
    CHECK(taken.wait_for(20ms) == std::future_status::timeout);
    files.allow();
    CHECK(taken.get() == 20);
    consumer.open();
    CHECK(consumer.wait_until_got(40));
    CHECK(consumer.got() == numbers(1, 40));
  }
}

TEST_CASE("a disk queue that is full of delivered messages gets its space back") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.max_file_size = 1024;
  options.max_disk_space = 1024;
  const TestConsumer consumer;
  const TestQueue queue(options, consumer.function());
  const std::string text(300, 't');
  for (std::size_t i = 1; i <= 10; ++i) {
    CHECK(queue.queue->enqueue({.content = text}));
    CHECK(queue.queue->wait_until_empty(60s));
  }
}

TEST_CASE("a helper that is full of delivered messages does not stop the queue") {
  const TemporaryFolder folder;
  QueueOptions options = hurried(folder);
  options.max_file_size = 1024;
  options.max_disk_space = 1024;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  const std::string text(120, 't');
  std::size_t taken = 0;
  while (taken < 20 && queue.queue->enqueue({.content = text})) ++taken;
  CHECK(taken == 20);
  consumer.open();
  CHECK(consumer.wait_until_got(20));
}

TEST_CASE("a message that is too large for the disk is delivered from memory") {
  const TemporaryFolder folder;
  QueueOptions options = hurried(folder);
  options.max_file_size = 1024;
  options.max_disk_space = 2048;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  hold_first(queue, consumer);
  REQUIRE(queue.queue->enqueue({.content = std::string(5000, 'l')}));
  REQUIRE(queue.put(3, 15) == 13);
  consumer.open();
  CHECK(consumer.wait_until_got(15));
}

TEST_CASE("at the end only the message that is too large for the disk is lost, and reported") {
  const TemporaryFolder folder;
  QueueOptions options = hurried(folder);
  options.max_file_size = options.max_disk_space = 2048;
  options.save_on_shutdown = true;
  TestConsumer consumer;
  consumer.close();
  {
    const TestQueue queue(options, consumer.function());
    hold_first(queue, consumer);
    REQUIRE(queue.queue->enqueue({.content = std::string(5000, 'l')}));
    REQUIRE(queue.put(2, 8) == 7);
    const Ending how = queue.queue->shutdown();
    CHECK(how.lost == 1);
    CHECK(how.saved == 8);
    CHECK(queue.reports.count("a message of 5000 bytes is too long") == 1);
  }
  CHECK(rest_of(options) == numbers(1, 8));
}

TEST_CASE("a disk that fails while the queue ends does not bring its workers back") {
  const TemporaryFolder folder;
  QueueOptions options = hurried(folder);
  options.timeout_action_completion = 5s;
  options.timeout_shutdown = 0ms;
  HeldUpFiles files;
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function(), files);
  hold_first(queue, consumer);
  files.hold_up(What::kRead);
  files.refuse(What::kRead);
  REQUIRE(queue.put(2, 12) == 11);
  REQUIRE(files.wait_until_held_up());
  auto ending = std::async(std::launch::async, [&] { return queue.queue->shutdown(); });
  REQUIRE(eventually([&] { return !queue.queue->enqueue({.content = "late"}, Delay::kNone); }));
  files.let_go();
  REQUIRE(eventually([&] { return queue.reports.count("no disk assistance") == 1; }));
  consumer.let_pass(1);
  const Ending how = ending.get();
  CHECK(how.consumers_left == 0);
  CHECK(consumer.begun() == 1);
  CHECK(how.saved + how.lost + consumer.got().size() == queue.figures().enqueued);
}

TEST_CASE("an enqueue-only queue does not undo the progress of another process") {
  const TemporaryFolder folder;
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  const SpoolFiles spool(quarry::base::FileSystem::real(), options.spool_directory,
                         options.filename, false);
  const TestQueue feeding(options, {});
  REQUIRE(feeding.put(1, 5) == 5);
  {
    // Like another process.
    const auto whole = complete(options);
    REQUIRE(whole);
    const auto lock = spool.lock(Roles::kReader);
    REQUIRE(lock);
    const auto reader = DiskStore::open(
        spool, *whole, [](const auto&) {}, Roles::kReader);
    REQUIRE(reader);
    Batch batch = (*reader)->take(3);
    REQUIRE(batch.messages.size() == 3);
    (*reader)->settle(std::move(batch), 3);
    REQUIRE((*reader)->checkpoint());
  }
  const auto before = spool.position();
  REQUIRE(before);
  feeding.queue->shutdown();
  const auto after = spool.position();
  REQUIRE(after);
  CHECK(*after == *before);
}

TEST_CASE("messages on disk are delivered first, even if they cannot be read at first") {
  const TemporaryFolder folder;
  const QueueOptions options = disk_assisted(folder);
  REQUIRE(leave_on_disk(options, 1, 3) == 3);
  HeldUpFiles files;
  files.refuse(HeldUpFiles::What::kRead);
  const TestConsumer consumer;
  const TestEngine queue(options, consumer.function(), files);
  CHECK(queue.put(4, 5) == 2);
  const std::size_t before = files.refused();
  // It is tried again, and nothing is delivered.
  while (files.refused() == before) std::this_thread::yield();
  CHECK(consumer.got().empty());
  files.allow();
  CHECK(consumer.wait_until_got(5));
  CHECK(consumer.got() == numbers(1, 5));
}
