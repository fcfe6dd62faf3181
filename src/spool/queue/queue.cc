#include "quarry/spool/queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine.h"
#include "sampling.h"

namespace quarry::spool {
namespace {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::Result;

/// Calls the consumer; an exception means that nothing was delivered.
Delivery consume(const Consumer& consumer, std::span<const Message> batch,
                 const Reporter& reporter) {
  try {
    return consumer(batch, std::stop_token());
  } catch (const std::exception& failure) {
    reporter(fmt::format("the consumer failed: {}", failure.what()));
  } catch (...) {
    reporter("the consumer failed");
  }
  return {};
}

}  // namespace

class Queue::Implementation {
 public:
  QueueOptions options;
  Consumer consumer;
  std::shared_ptr<Figures> figures = std::make_shared<Figures>();
  Reporter reporter;
  SpoolLock lock;
  std::shared_ptr<Engine> engine;  // null for a direct queue
  std::atomic<bool> is_ended{false};
  std::optional<Sampling> sampling;

  std::optional<SpoolFiles> files;  // set if the queue uses the disk

  Result<void> open_files(base::FileSystem& system);
  std::size_t take(std::span<Message> messages, Delay delay, Error* error);
  std::size_t consume_directly(std::span<Message> messages, Error* error);
};

/// Creates the directory if needed, and locks the queue's roles there.
Result<void> Queue::Implementation::open_files(base::FileSystem& system) {
  QUARRY_TRY(system.make_folder(options.spool_directory));
  if (options.sync_queue_files) {
    const auto parent = std::filesystem::absolute(options.spool_directory).parent_path();
    QUARRY_TRY(system.sync_directory(parent));
  }
  files.emplace(system, options.spool_directory, options.filename, options.sync_queue_files);
  QUARRY_TRY_ASSIGN(lock, files->lock(consumer ? Roles::kBoth : Roles::kWriter));
  files->keep_to(lock);
  return files->check_no_stream();
}

std::size_t Queue::Implementation::take(std::span<Message> messages, Delay delay, Error* error) {
  return engine ? engine->enqueue(messages, delay, error) : consume_directly(messages, error);
}

/// For the type direct: calls the consumer.
std::size_t Queue::Implementation::consume_directly(std::span<Message> messages, Error* error) {
  if (is_ended) {
    *error = {ErrorCode::kBusy, "the queue is ending"};
    return 0;
  }
  const std::size_t good = Intake::count_good(kMaxContent, messages, error);
  if (good == 0) return 0;
  const Delivery delivery = consume(consumer, messages.first(good), reporter);
  const std::size_t done = std::min(delivery.delivered, good);
  figures->enqueued += done;
  figures->delivered += done;
  figures->retried += good - done;
  if (done < good) *error = {ErrorCode::kBusy, "the consumer says to try again"};
  return done;
}

Queue::Queue(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Queue::~Queue() {
  shutdown();
}

Result<std::unique_ptr<Queue>> Queue::start(const QueueOptions& options, Consumer consumer,
                                            Reporter reporter, base::FileSystem& files) {
  auto made = std::make_unique<Implementation>();
  QUARRY_TRY_ASSIGN(made->options, complete(options));
  made->consumer = consumer;
  const auto report = [reporter = std::move(reporter),
                       mutex = std::make_shared<Mutex>()](const std::string& line) {
    const Lock lock(*mutex);
    if (reporter) reporter(line);
  };
  made->reporter = report;
  if (options.sampling_interval > 1) made->sampling.emplace(options.sampling_interval);
  if (options.type == QueueType::kDirect) {
    if (!made->consumer) return fail(ErrorCode::kInvalid, "a direct queue needs a consumer");
    return std::unique_ptr<Queue>(new Queue(std::move(made)));
  }
  const bool has_files = options.type == QueueType::kDisk || options.is_disk_assisted();
  if (has_files) QUARRY_TRY(made->open_files(files));
  Engine::Setup setup{.options = made->options,
                      .consumer = std::move(consumer),
                      .reporter = report,
                      .figures = made->figures,
                      .files = made->files.value_or(SpoolFiles(files, {}, {}, false)),
                      .disk = nullptr,
                      .on_empty = {},
                      .local_time = local_time};
  bool found = false;
  if (made->options.type == QueueType::kDisk) {
    const Roles roles = made->consumer ? Roles::kBoth : Roles::kWriter;
    QUARRY_TRY_ASSIGN(setup.disk, DiskStore::open(*made->files, made->options, report, roles));
  } else if (made->options.is_disk_assisted()) {
    QUARRY_TRY_ASSIGN(found, DiskStore::is_there(*made->files));
  }
  made->engine = std::make_shared<Engine>(std::move(setup));
  made->engine->start(found && made->consumer);
  return std::unique_ptr<Queue>(new Queue(std::move(made)));
}

std::size_t Queue::enqueue(std::span<Message> messages, Delay delay, Error* error) {
  Implementation& it = *implementation_;
  if (!it.sampling || it.is_ended) return it.take(messages, delay, error);
  return it.sampling->pass(messages, *it.figures, [&](std::span<Message> samples) {
    const std::size_t count = it.take(samples, delay, error);
    const bool is_discarded = count < samples.size() && error->code == ErrorCode::kDiscarded;
    return Sampling::Taken{count, is_discarded};
  });
}

Result<void> Queue::enqueue(Message message, Delay delay) {
  Error error;
  if (enqueue(std::span(&message, 1), delay, &error) == 1) return {};
  return std::unexpected(std::move(error));
}

Ending Queue::shutdown() {
  implementation_->is_ended = true;
  return implementation_->engine ? implementation_->engine->shut_down() : Ending{};
}

Statistics Queue::statistics() const {
  return implementation_->figures->statistics();
}

Result<void> Queue::check_files() const {
  return implementation_->files ? implementation_->files->check_folder() : Result<void>{};
}

bool Queue::wait_until_empty(milliseconds timeout) {
  return !implementation_->engine || implementation_->engine->wait_until_empty(timeout);
}

}  // namespace quarry::spool
