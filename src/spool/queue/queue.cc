#include "quarry/spool/queue.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

/// Implements queue.samplinginterval, which keeps only the last message of every interval.
class Sampling {
 public:
  explicit Sampling(std::size_t interval) : interval_(interval) {}

  /// The outcome for a list of samples. The first COUNT samples were accepted. If
  /// IS_NEXT_DISCARDED is set, the next sample was discarded. Otherwise, it can be tried again.
  struct Taken {
    std::size_t count;
    bool is_next_discarded;
  };

  /// Passes samples of MESSAGES to TAKE, which returns Taken. Returns how many of MESSAGES are
  /// done. A sample that TAKE has neither accepted nor discarded is sampled again at the next
  /// attempt.
  template <typename Take>
  std::size_t pass(std::span<Message> messages, Figures& figures, Take&& take) {
    std::vector<std::size_t> indices;
    std::vector<Message> samples;
    for (std::size_t i = interval_ - 1 - seen(messages.size()); i < messages.size();
         i += interval_) {
      indices.push_back(i);
      samples.push_back(std::move(messages[i]));
    }
    const auto [taken, is_next_discarded] =
        samples.empty() ? Taken{0, false} : take(std::span(samples));
    for (std::size_t i = taken; i < samples.size(); ++i) {
      messages[indices[i]] = std::move(samples[i]);
    }
    const std::size_t done = taken < samples.size() ? indices[taken] : messages.size();
    forget(messages.size() - done - (is_next_discarded ? 1 : 0));
    figures.left_out += done - taken;
    return done;
  }

 private:
  /// Returns the number of messages since the last sample, and then counts COUNT further messages.
  std::size_t seen(std::size_t count) {
    const Lock lock(mutex_);
    const std::size_t before = seen_;
    seen_ = (seen_ + count) % interval_;
    return before;
  }
  void forget(std::size_t count) {
    const Lock lock(mutex_);
    seen_ = (seen_ + interval_ - count % interval_) % interval_;
  }

  std::size_t interval_;
  Mutex mutex_;
  std::size_t seen_ = 0;
};

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

  std::optional<SpoolFiles> files;  // for a queue with files

  Result<void> open_files(base::FileSystem& system);
  std::size_t take(std::span<Message> messages, Delay delay, Error* error);
  std::size_t consume_directly(std::span<Message> messages, Error* error);
};

/// Creates the directory if it does not exist. Locks the files for the roles of this process.
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

/// Calls the consumer, for a queue of type direct.
std::size_t Queue::Implementation::consume_directly(std::span<Message> messages, Error* error) {
  if (is_ended) {
    *error = {ErrorCode::kBusy, "the queue is shutting down"};
    return 0;
  }
  const std::size_t good = Intake::count_good(kMaxContent, messages, error);
  if (good == 0) return 0;
  const Delivery delivery = call(consumer, messages.first(good), std::stop_token(), reporter);
  const std::size_t done = delivery.delivered;
  figures->enqueued += done;
  figures->delivered += done;
  figures->retried += good - done;
  if (done < good) *error = {ErrorCode::kBusy, "the consumer requested a retry"};
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
  EngineSetup setup{.options = made->options,
                    .consumer = std::move(consumer),
                    .reporter = report,
                    .figures = made->figures,
                    .files = made->files.value_or(SpoolFiles(files, {}, {}, false))};
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
