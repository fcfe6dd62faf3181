// Files that are removed or replaced while a queue uses them.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;
namespace fs = std::filesystem;

namespace {

QueueOptions queue_on_disk(const TemporaryFolder& folder) {
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.spool_directory = folder.path() / "spool";
  return options;
}

}  // namespace

TEST_CASE("a message is not written to a removed segment, and the next one goes to another") {
  const TemporaryFolder folder;
  const QueueOptions options = queue_on_disk(folder);
  const TestQueue queue(options, {});
  REQUIRE(queue.put(1, 3) == 3);
  REQUIRE(fs::remove(options.spool_directory / "q.00000001"));
  const auto taken = queue.queue->enqueue({.content = "4"});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kNotFound);
  CHECK(taken.error().message.contains("q.00000001: it was removed or replaced"));
  CHECK(queue.put(5, 6) == 2);
  CHECK(fs::exists(options.spool_directory / "q.00000002"));
}

TEST_CASE("nothing is accepted once the directory was moved, even if another one replaces it") {
  const TemporaryFolder folder;
  const QueueOptions options = queue_on_disk(folder);
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  REQUIRE(queue.put(1, 3) == 3);
  REQUIRE(consumer.wait_until_begun(1));
  fs::rename(options.spool_directory, folder.path() / "moved");
  fs::create_directory(options.spool_directory);
  for (int i = 0; i < 2; ++i) {
    const auto taken = queue.queue->enqueue({.content = "4"});
    REQUIRE_FALSE(taken);
    CHECK(
        taken.error().message.contains("it was removed, moved or replaced while a queue uses it"));
  }
  CHECK(fs::is_empty(options.spool_directory));
  // Open files can still be read.
  consumer.open();
  CHECK(consumer.wait_until_got(3));
}

TEST_CASE("messages whose files are gone count as lost when an enqueue-only queue ends") {
  const TemporaryFolder folder;
  const QueueOptions options = queue_on_disk(folder);
  const TestQueue queue(options, {});
  REQUIRE(queue.put(1, 3) == 3);
  fs::remove_all(options.spool_directory);
  const Ending how = queue.queue->shutdown();
  CHECK(how.lost == 3);
  CHECK(how.saved == 0);
  CHECK(queue.reports.count("it was removed, moved or replaced") == 1);
}

TEST_CASE("memory delivers messages when the disk queue's directory is gone") {
  const TemporaryFolder folder;
  QueueOptions options = hurried();
  options.spool_directory = folder.path() / "spool";
  options.filename = "q";
  TestConsumer consumer;
  consumer.close();
  const TestQueue queue(options, consumer.function());
  fs::remove_all(options.spool_directory);
  REQUIRE(queue.put(1, 15) == 15);
  CHECK(eventually([&] { return queue.reports.count("no disk assistance") == 1; }));
  consumer.open();
  CHECK(consumer.wait_until_got(15));
}
