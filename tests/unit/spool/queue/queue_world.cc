#include "queue_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace quarry::spool {
namespace {

using namespace std::chrono_literals;
using base::File;
using base::FileUse;

/// A file whose operations can be blocked, or made to fail.
class FaultyFile final : public File {
 public:
  FaultyFile(FaultyFiles& files, std::unique_ptr<File> real)
      : files_(files), real_(std::move(real)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    QUARRY_TRY(files_.pass(FaultyFiles::Operation::kRead));
    return real_->read_at(offset, buffer);
  }
  Result<void> append(std::string_view bytes) override {
    QUARRY_TRY(files_.pass(FaultyFiles::Operation::kAppend));
    return real_->append(bytes);
  }
  Result<void> truncate(std::uint64_t size) override { return real_->truncate(size); }
  Result<std::uint64_t> size() override { return real_->size(); }
  Result<void> sync() override { return real_->sync(); }
  Result<bool> has_name() override { return real_->has_name(); }
  Result<bool> try_lock() override { return real_->try_lock(); }
  Result<bool> is_locked() override { return real_->is_locked(); }

 private:
  FaultyFiles& files_;
  std::unique_ptr<File> real_;
};

}  // namespace

std::vector<std::string> numbers(int first, int last) {
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i) all.push_back(std::to_string(i));
  return all;
}

std::vector<Message> messages(int first, int last) {
  std::vector<Message> all;
  for (std::string& text : numbers(first, last)) all.push_back({.content = std::move(text)});
  return all;
}

// --- the consumer -----------------------------------------------------------------------------

Delivery TestConsumer::State::consume(std::span<const Message> batch, const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  batch_sizes.push_back(batch.size());
  max_at_once = std::max(max_at_once, ++at_once);
  changed.notify_all();
  const auto may_go = [&] { return !is_closed || passes > 0; };
  const bool goes = changed.wait(lock, ignores_stop ? std::stop_token() : stop, may_go);
  --at_once;
  if (!goes) return {};
  if (is_closed) --passes;
  Delivery delivery{.delivered = batch.size()};
  if (!answers.empty()) {
    const Answer answer = std::move(answers.front());
    answers.pop_front();
    delivery = answer(batch);
    delivery.delivered = std::min(delivery.delivered, batch.size());
  }
  for (const Message& one : batch.first(delivery.delivered)) got.push_back(one.content);
  changed.notify_all();
  return delivery;
}

// --- the disk ---------------------------------------------------------------------------------

Result<void> FaultyFiles::pass(Operation operation) {
  std::unique_lock lock(mutex_);
  if (blocked_.contains(operation)) {
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !blocked_.contains(operation); });
    --waiting_;
  }
  if (!failing_.contains(operation)) return {};
  ++failures_;
  return quarry::fail(ErrorCode::kNoSpace, "No space left on device");
}

Result<std::unique_ptr<File>> FaultyFiles::open(const std::filesystem::path& path, FileUse use) {
  QUARRY_TRY(pass(use == FileUse::kMake ? Operation::kMake : Operation::kRead));
  QUARRY_TRY_ASSIGN(auto file, real_.open(path, use));
  return std::make_unique<FaultyFile>(*this, std::move(file));
}

// --- queues -----------------------------------------------------------------------------------

QueueOptions small_options() {
  QueueOptions options;
  options.size = 20;
  options.high_watermark = 10;
  options.low_watermark = 4;
  options.dequeue_batch_size = 1;
  options.timeout_enqueue = 5s;
  options.timeout_shutdown = 5s;
  options.timeout_action_completion = 5s;
  options.timeout_worker_thread_shutdown = kEternal;
  return options;
}

QueueOptions hurried() {
  QueueOptions options = small_options();
  options.timeout_shutdown = options.timeout_action_completion = milliseconds(10);
  return options;
}

QueueOptions disk_assisted(const TemporaryFolder& folder) {
  QueueOptions options = small_options();
  options.spool_directory = folder.path();
  options.filename = "q";
  return options;
}

TestQueue::TestQueue(const QueueOptions& options, const Consumer& consumer,
                     base::FileSystem& files) {
  auto started = Queue::start(options, consumer, reports.function(), files);
  REQUIRE_MESSAGE(started, started.error().message);
  queue = std::move(*started);
}

std::size_t TestQueue::put(int first, int last, Delay delay) const {
  std::size_t taken = 0;
  for (std::string& text : numbers(first, last)) {
    if (!queue->enqueue({.content = std::move(text)}, delay)) break;
    ++taken;
  }
  return taken;
}

TestEngine::TestEngine(const QueueOptions& options, const Consumer& consumer,
                       base::FileSystem& files, const std::function<std::tm()>& clock) {
  const auto whole = complete(options);
  REQUIRE(whole);
  const SpoolFiles spool(files, options.spool_directory, options.filename,
                         options.sync_queue_files);
  // Uses the real file system, because operations on `files` can be blocked.
  const auto found = DiskStore::is_there(
      SpoolFiles(base::FileSystem::real(), options.spool_directory, options.filename, false));
  REQUIRE(found);
  engine = std::make_shared<Engine>(EngineSetup{.options = *whole,
                                                .consumer = consumer,
                                                .reporter = reports.function(),
                                                .figures = figures,
                                                .files = spool,
                                                .local_time = clock});
  engine->start(*found);
}

TestEngine::~TestEngine() {
  engine->shut_down();
}

std::size_t TestEngine::put(int first, int last) const {
  std::size_t taken = 0;
  for (std::string& text : numbers(first, last)) {
    Message message{.content = std::move(text)};
    Error error;
    taken += engine->enqueue(std::span(&message, 1), Delay::kNone, &error);
  }
  return taken;
}

bool TestEngine::wait_until_at(ShufflerState state) const {
  return eventually([&] { return engine->shuffler_state() == state; });
}

std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::string name = file.path().filename().string();
    if (!name.ends_with(".lock")) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::uint64_t leave_on_disk(const QueueOptions& options, int first, int last) {
  QueueOptions saving = options;
  saving.save_on_shutdown = true;
  const TestQueue queue(saving, {});
  queue.put(first, last);
  return queue.queue->shutdown().saved;
}

std::vector<std::string> rest_of(QueueOptions options) {
  options.sync_queue_files = false;  // syncing is slow
  const TestConsumer consumer;
  const TestQueue queue(options, consumer.function());
  CHECK(queue.becomes_empty());
  return consumer.got();
}

}  // namespace quarry::spool
