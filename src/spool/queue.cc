#include "quarry/spool/queue.h"

#include <utility>

#include "engine.h"

namespace quarry::spool {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

/// Who enqueues consumes: the queue of type direct.
std::size_t consume_directly(const Consumer& consumer, std::span<Message> messages,
                             Figures& figures, Error* error) {
  const Delivery delivery = consumer(messages, std::stop_token());
  const std::size_t done = std::min(delivery.delivered, messages.size());
  figures.enqueued += done;
  figures.delivered += done;
  figures.retried += messages.size() - done;
  if (done < messages.size()) *error = {ErrorCode::kBusy, "the consumer says to try again"};
  return done;
}

}  // namespace

class Queue::Implementation {
 public:
  QueueOptions options;
  Consumer consumer;
  std::shared_ptr<Figures> figures = std::make_shared<Figures>();
  Mutex reports;
  SpoolLock lock;
  std::shared_ptr<Engine> engine;  // none: direct
};

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
  if (options.type == QueueType::kDirect) return std::unique_ptr<Queue>(new Queue(std::move(made)));
  const auto tell = [reporter = std::move(reporter),
                     mutex = std::make_shared<Mutex>()](const std::string& line) {
    const Lock lock(*mutex);
    if (reporter) reporter(line);
  };
  const SpoolFiles spool(files, options.spool_directory, options.filename,
                         options.sync_queue_files);
  const bool is_disk = options.type == QueueType::kDisk;
  Engine::Setup setup{.options = made->options,
                      .consumer = std::move(consumer),
                      .reporter = tell,
                      .figures = made->figures,
                      .files = spool,
                      .disk = nullptr,
                      .on_empty = {}};
  bool found = false;
  if (is_disk || options.is_disk_assisted()) {
    const Roles roles = made->consumer ? Roles::kBoth : Roles::kWriter;
    QUARRY_TRY(files.make_folder(options.spool_directory));
    QUARRY_TRY_ASSIGN(made->lock, spool.lock(roles));
    if (is_disk) {
      QUARRY_TRY_ASSIGN(setup.disk, DiskStore::open(spool, made->options, tell, roles));
    } else {
      QUARRY_TRY_ASSIGN(found, DiskStore::is_there(spool));
    }
  }
  made->engine = std::make_shared<Engine>(std::move(setup));
  made->engine->start(found && made->consumer);
  return std::unique_ptr<Queue>(new Queue(std::move(made)));
}

std::size_t Queue::enqueue(std::span<Message> messages, Delay delay, Error* error) {
  Implementation& it = *implementation_;
  if (it.engine) return it.engine->enqueue(messages, delay, error);
  return consume_directly(it.consumer, messages, *it.figures, error);
}

Result<void> Queue::enqueue(Message message, Delay delay) {
  Error error;
  if (enqueue(std::span(&message, 1), delay, &error) == 1) return {};
  return std::unexpected(std::move(error));
}

Ending Queue::shutdown() {
  return implementation_->engine ? implementation_->engine->shut_down() : Ending{};
}

Statistics Queue::statistics() const {
  return implementation_->figures->statistics();
}

bool Queue::wait_until_empty(milliseconds timeout) {
  return !implementation_->engine || implementation_->engine->wait_until_empty(timeout);
}

}  // namespace quarry::spool
