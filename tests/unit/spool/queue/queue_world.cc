#include "queue_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace quarry::spool {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::File;
using base::FileUse;
using base::Result;

constexpr auto kLongest = 60s;

/// A file whose appends can be blocked, or made to fail.
class HeldUpFile final : public File {
 public:
  HeldUpFile(HeldUpFiles& files, std::unique_ptr<File> real)
      : files_(files), real_(std::move(real)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    QUARRY_TRY(files_.pass(HeldUpFiles::What::kRead));
    return real_->read_at(offset, buffer);
  }
  Result<void> append(std::string_view bytes) override {
    QUARRY_TRY(files_.pass(HeldUpFiles::What::kAppend));
    return real_->append(bytes);
  }
  Result<void> truncate(std::uint64_t size) override { return real_->truncate(size); }
  Result<std::uint64_t> size() override { return real_->size(); }
  Result<void> sync() override { return real_->sync(); }
  Result<bool> has_name() override { return real_->has_name(); }
  Result<bool> try_lock() override { return real_->try_lock(); }
  Result<bool> is_locked() override { return real_->is_locked(); }

 private:
  HeldUpFiles& files_;
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

Consumer TestConsumer::function() const {
  return [state = state_](std::span<const Message> batch, const std::stop_token& stop) {
    return state->consume(batch, stop);
  };
}

Delivery TestConsumer::State::consume(std::span<const Message> batch, const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  ++begun;
  batch_sizes.push_back(batch.size());
  max_at_once = std::max(max_at_once, ++at_once);
  changed.notify_all();
  const auto may_go = [&] { return !is_closed || passes > 0; };
  if (ignores_stop) {
    changed.wait(lock, may_go);
  } else if (!changed.wait(lock, stop, may_go)) {
    --at_once;
    changed.notify_all();
    return {};
  }
  if (is_closed) --passes;
  try {
    const Delivery delivery = take(batch, lock);
    --at_once;
    changed.notify_all();
    return delivery;
  } catch (...) {
    --at_once;
    changed.notify_all();
    throw;
  }
}

Delivery TestConsumer::State::take(std::span<const Message> batch,
                                   std::unique_lock<std::mutex>& /*lock*/) {
  Delivery delivery{.delivered = batch.size()};
  if (!answers.empty()) {
    const auto answer = std::move(answers.front());
    answers.erase(answers.begin());
    delivery = answer(batch);
    delivery.delivered = std::min(delivery.delivered, batch.size());
  }
  for (const Message& one : batch.first(delivery.delivered)) got.push_back(one.content);
  return delivery;
}

void TestConsumer::close() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
}

void TestConsumer::open() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = false;
  state_->changed.notify_all();
}

void TestConsumer::let_pass(std::size_t batches) {
  const std::lock_guard lock(state_->mutex);
  state_->passes += batches;
  state_->changed.notify_all();
}

void TestConsumer::answer(std::vector<std::function<Delivery(std::span<const Message>)>> answers) {
  const std::lock_guard lock(state_->mutex);
  state_->answers = std::move(answers);
}

std::vector<std::string> TestConsumer::got() const {
  const std::lock_guard lock(state_->mutex);
  return state_->got;
}

std::vector<std::size_t> TestConsumer::batch_sizes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->batch_sizes;
}

std::size_t TestConsumer::begun() const {
  const std::lock_guard lock(state_->mutex);
  return state_->begun;
}

std::size_t TestConsumer::max_at_once() const {
  const std::lock_guard lock(state_->mutex);
  return state_->max_at_once;
}

bool TestConsumer::wait_until_got(std::size_t messages) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, kLongest, [&] { return state_->got.size() >= messages; });
}

bool TestConsumer::wait_until_begun(std::size_t batches) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, kLongest, [&] { return state_->begun >= batches; });
}

bool TestConsumer::wait_until_forgotten() const {
  return eventually([&] { return state_.use_count() == 1; });
}

// --- reports ----------------------------------------------------------------------------------

Reporter Reports::function() const {
  return [state = state_](const std::string& line) {
    const std::lock_guard lock(state->mutex);
    state->lines.push_back(line);
  };
}

std::size_t Reports::count(std::string_view text) const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<std::size_t>(std::ranges::count_if(
      state_->lines, [&](const std::string& line) { return line.contains(text); }));
}

// --- the disk ---------------------------------------------------------------------------------

void HeldUpFiles::hold_up(What what) {
  const std::lock_guard lock(mutex_);
  held_up_.insert(what);
}

void HeldUpFiles::let_go() {
  const std::lock_guard lock(mutex_);
  held_up_.clear();
  changed_.notify_all();
}

bool HeldUpFiles::wait_until_held_up() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kLongest, [&] { return waiting_ > 0; });
}

void HeldUpFiles::refuse(What what) {
  const std::lock_guard lock(mutex_);
  refused_.insert(what);
}

void HeldUpFiles::allow() {
  const std::lock_guard lock(mutex_);
  refused_.clear();
}

std::size_t HeldUpFiles::refused() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

Result<void> HeldUpFiles::pass(What what) {
  std::unique_lock lock(mutex_);
  if (held_up_.contains(what)) {
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_up_.contains(what); });
    --waiting_;
  }
  if (!refused_.contains(what)) return {};
  ++refusals_;
  return base::fail(ErrorCode::kNoSpace, "No space left on device");
}

Result<std::unique_ptr<File>> HeldUpFiles::open(const std::filesystem::path& path, FileUse use) {
  QUARRY_TRY(pass(use == FileUse::kMake ? What::kMake : What::kRead));
  QUARRY_TRY_ASSIGN(auto file, real_.open(path, use));
  return std::make_unique<HeldUpFile>(*this, std::move(file));
}

Result<void> HeldUpFiles::rename(const std::filesystem::path& from,
                                 const std::filesystem::path& to) {
  return real_.rename(from, to);
}

Result<void> HeldUpFiles::remove(const std::filesystem::path& path) {
  QUARRY_TRY(pass(What::kRemove));
  return real_.remove(path);
}

Result<std::vector<std::string>> HeldUpFiles::list(const std::filesystem::path& folder) {
  QUARRY_TRY(pass(What::kRead));
  return real_.list(folder);
}

Result<void> HeldUpFiles::make_folder(const std::filesystem::path& folder) {
  return real_.make_folder(folder);
}

Result<void> HeldUpFiles::sync_directory(const std::filesystem::path& folder) {
  return real_.sync_directory(folder);
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
                       base::FileSystem& files, const LocalClock& clock) {
  const auto whole = complete(options);
  REQUIRE(whole);
  const SpoolFiles spool(files, options.spool_directory, options.filename,
                         options.sync_queue_files);
  // Never blocked.
  const auto found = DiskStore::is_there(
      SpoolFiles(base::FileSystem::real(), options.spool_directory, options.filename, false));
  REQUIRE(found);
  engine = std::make_shared<Engine>(Engine::Setup{.options = *whole,
                                                  .consumer = consumer,
                                                  .reporter = reports.function(),
                                                  .figures = figures,
                                                  .files = spool,
                                                  .disk = nullptr,
                                                  .on_empty = {},
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
    base::Error error;
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
  options.sync_queue_files = false;  // which takes long
  const TestConsumer consumer;
  const TestQueue queue(options, consumer.function());
  CHECK(queue.queue->wait_until_empty(kLongest));
  return consumer.got();
}

}  // namespace quarry::spool
