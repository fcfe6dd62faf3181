// A queue that one process writes and another one reads, here with an object for each.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "quarry/spool/spool.h"
#include "queue_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

/// A disk queue in FOLDER of 20 messages, each in a file that also holds others.
QueueOptions on_disk(const TemporaryFolder& folder) {
  QueueOptions options = disk_assisted(folder);
  options.type = QueueType::kDisk;
  options.timeout_enqueue = 0ms;
  return options;
}

/// The reader.
struct TestDrain {
  explicit TestDrain(const QueueOptions& options) {
    auto opened =
        Drain::open({options.spool_directory, options.filename}, options, reports.function());
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

  Reports reports;
  std::unique_ptr<Drain> drain;
};

/// The machine's files. Whenever they are listed, another process has just added some, up to a
/// limit.
class FedFiles final : public quarry::base::FileSystem {
 public:
  explicit FedFiles(const TestQueue& feeder) : feeder_(feeder) {}
  int fed() const { return fed_; }

  quarry::base::Result<std::unique_ptr<quarry::base::File>> open(
      const std::filesystem::path& path, quarry::base::FileUse use) override {
    return real_.open(path, use);
  }
  quarry::base::Result<void> rename(const std::filesystem::path& from,
                                    const std::filesystem::path& to) override {
    return real_.rename(from, to);
  }
  quarry::base::Result<void> remove(const std::filesystem::path& path) override {
    return real_.remove(path);
  }
  quarry::base::Result<std::vector<std::string>> list(
      const std::filesystem::path& folder) override {
    if (fed_ < kMax) {
      ++fed_;
      feeder_.put(fed_, fed_);
    }
    return real_.list(folder);
  }
  quarry::base::Result<void> make_folder(const std::filesystem::path& folder) override {
    return real_.make_folder(folder);
  }
  quarry::base::Result<void> sync_directory(const std::filesystem::path& folder) override {
    return real_.sync_directory(folder);
  }

 private:
  static constexpr int kMax = 1000;
  quarry::base::FileSystem& real_ = quarry::base::FileSystem::real();
  const TestQueue& feeder_;
  int fed_ = 0;
};

}  // namespace

TEST_CASE("queue.size limits the messages that wait for another process to deliver") {
  const TemporaryFolder folder;
  const QueueOptions options = on_disk(folder);
  const TestQueue queue(options, {});
  CHECK(queue.put(1, 30) == 20);
  const auto refused = queue.queue->enqueue({.content = "21"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kLimit);
  CHECK(queue.figures().full == 2);
  const TestDrain reader(options);
  CHECK(reader.take(5) == numbers(1, 5));
  // At the next poll, even if the position is otherwise stored only once per segment.
  CHECK(reader.take(0).empty());
  CHECK(queue.put(21, 40) == 5);
  CHECK(queue.figures().on_disk == 20);
  CHECK(reader.take(100) == numbers(6, 25));
}

TEST_CASE("a producer waits for another process to deliver, and continues soon afterwards") {
  const TemporaryFolder folder;
  QueueOptions options = on_disk(folder);
  options.timeout_enqueue = kEternal;
  options.checkpoint_interval = 1;
  const TestQueue queue(options, {});
  auto put = std::async(std::launch::async, [&] { return queue.put(1, 200); });
  const TestDrain reader(options);
  std::vector<std::string> got;
  std::size_t max = 0;
  CHECK(eventually([&] {
    max = std::max<std::size_t>(max, queue.figures().on_disk);
    for (std::string& one : reader.take(7)) got.push_back(std::move(one));
    return got.size() >= 200;
  }));
  CHECK(put.get() == 200);
  CHECK(got == numbers(1, 200));
  CHECK(max <= 20);
}

TEST_CASE("messages of an earlier process count, and a purge makes room") {
  const TemporaryFolder folder;
  const QueueOptions options = on_disk(folder);
  REQUIRE(leave_on_disk(options, 1, 15) == 15);
  const TestQueue queue(options, {});
  CHECK(queue.put(16, 30) == 5);
  CHECK(purge_spool({options.spool_directory, options.filename}, {}).value() == 20);
  CHECK(queue.put(21, 50) == 20);
}

TEST_CASE("a purge ends even if a producer enqueues without a pause") {
  const TemporaryFolder folder;
  QueueOptions options = on_disk(folder);
  options.size = 100000;
  const TestQueue queue(options, {});
  REQUIRE(queue.put(1, 50) == 50);
  FedFiles files(queue);
  const auto removed = purge_spool({options.spool_directory, options.filename}, {}, files);
  REQUIRE_MESSAGE(removed, removed.error().message);
  // Some were added before its first poll.
  CHECK(*removed >= 50);
  CHECK(*removed < 60);
  CHECK(files.fed() < 100);
  const TestDrain rest(options);
  CHECK(rest.take(2000).size() == 50 + static_cast<std::size_t>(files.fed()) - *removed);
}

TEST_CASE("a drain settles messages in order, and returns unsettled ones again") {
  const TemporaryFolder folder;
  const QueueOptions options = on_disk(folder);
  REQUIRE(leave_on_disk(options, 1, 20) == 20);
  {
    const TestDrain reader(options);
    REQUIRE(reader.drain->next(5)->size() == 5);
    REQUIRE(reader.drain->next(8)->size() == 8);
    CHECK(reader.drain->unsettled() == 13);
    reader.drain->settle(2);
    reader.drain->settle(5);
    CHECK(reader.drain->unsettled() == 6);
    CHECK(reader.drain->finish());
  }
  const TestDrain reader(options);
  CHECK(reader.take(100) == numbers(8, 20));
}

TEST_CASE("delivery by another process makes room below queue.discardmark, too") {
  const TemporaryFolder folder;
  QueueOptions options = on_disk(folder);
  options.discard_mark = 10;
  options.discard_severity = 6;
  const TestQueue queue(options, {});
  CHECK(queue.put(1, 12) == 10);
  const TestDrain reader(options);
  CHECK(reader.take(3) == numbers(1, 3));
  CHECK(reader.take(1) == numbers(4, 4));
  CHECK(reader.take(0).empty());
  CHECK(queue.put(11, 30) == 4);
}

TEST_CASE("a message that can never fit into queue.maxdiskspace is refused for its size") {
  for (const QueueType type : {QueueType::kDisk, QueueType::kMemory}) {
    const TemporaryFolder folder;
    QueueOptions options = on_disk(folder);
    options.type = type;
    options.max_file_size = options.max_disk_space = 1024;
    const std::size_t max = max_content(options);
    CHECK(max == 1024 - 44);
    const TestQueue queue(options, {});
    CHECK(queue.queue->enqueue({.content = std::string(max, 'x')}));
    const auto refused = queue.queue->enqueue({.content = std::string(max + 1, 'x')});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kLimit);
    CHECK(refused.error().message.contains("queue.maxdiskspace"));
  }
}
