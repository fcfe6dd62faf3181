// The classes of the public headers, which forward to StreamCore and SubscriptionCore.
#include "quarry/spool/stream.h"

#include <fmt/core.h>

#include <memory>
#include <random>
#include <utility>

#include "envelope.h"
#include "stream_core.h"

namespace quarry::spool {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

Result<void> check(const StreamOptions& options) {
  const std::string& name = options.location.name;
  if (name.empty() || name.find_first_of("./") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "a stream's name has neither a dot nor a slash");
  }
  if (options.max_file_size < kMinFileSize) {
    return fail(ErrorCode::kInvalid,
                fmt::format("max_file_size: must be at least {}", kMinFileSize));
  }
  if (options.max_disk_space != 0 && options.max_disk_space < options.max_file_size) {
    return fail(ErrorCode::kInvalid, "max_disk_space: must not be less than max_file_size");
  }
  return {};
}

/// A thread-safe random number generator.
std::function<double()> shared_random() {
  struct Source {
    Mutex mutex;
    std::minstd_rand engine{std::random_device{}()};
  };
  return [source = std::make_shared<Source>()] {
    const Lock lock(source->mutex);
    return std::uniform_real_distribution<double>(0, 1)(source->engine);
  };
}

}  // namespace

Result<void> check(const NewMessage& message) {
  if (message.content.size() <= kMaxStreamContent && message.key.size() <= kMaxKey &&
      message.severity <= kLeastSevere) {
    return {};
  }
  return fail(
      ErrorCode::kLimit,
      fmt::format("a message has {} bytes of content, {} of key and a severity of {} at most",
                  kMaxStreamContent, kMaxKey, kLeastSevere));
}

Stream::Stream(std::unique_ptr<StreamCore> core) : core_(std::move(core)) {}
Stream::~Stream() = default;

Result<std::unique_ptr<Stream>> Stream::open(const StreamOptions& options, Reporter reporter,
                                             const StreamEnvironment& environment) {
  QUARRY_TRY(check(options));
  const auto report = [reporter = std::move(reporter),
                       mutex = std::make_shared<Mutex>()](const std::string& line) {
    const Lock lock(*mutex);
    if (reporter) reporter(line);
  };
  StreamEnvironment whole{.files = environment.files,
                          .clock = environment.clock,
                          .random = environment.random ? environment.random : shared_random()};
  QUARRY_TRY_ASSIGN(auto core, StreamCore::open(options, report, whole));
  return std::unique_ptr<Stream>(new Stream(std::move(core)));
}

Result<std::uint64_t> Stream::append(std::span<const NewMessage> messages) {
  std::vector<Message> sealed;
  sealed.reserve(messages.size());
  const base::UnixMillis now = core_->clock().now();
  for (const NewMessage& one : messages) {
    QUARRY_TRY(check(one));
    sealed.push_back(seal({.key = one.key,
                           .only = {},
                           .error = {},
                           .attempts = 0,
                           .taken_at = now,
                           .id = 0,
                           .content = one.content},
                          one.severity));
  }
  return core_->append(sealed);
}

Result<std::shared_ptr<Subscription>> Stream::subscribe(const std::string& name,
                                                        const SubscriptionOptions& options) {
  return core_->subscribe(name, options);
}

Result<void> Stream::unsubscribe(const std::string& name) {
  return core_->unsubscribe(name);
}

std::vector<std::string> Stream::subscriptions() const {
  std::vector<std::string> names;
  for (const auto& one : core_->subscriptions()) names.push_back(one->name());
  return names;
}

std::vector<SubscriptionStatistics> Stream::statistics() const {
  std::vector<SubscriptionStatistics> all;
  for (const auto& one : core_->subscriptions()) all.push_back(one->statistics());
  return all;
}

std::uint64_t Stream::bytes() const {
  return core_->log().bytes();
}

std::uint64_t Stream::next_id() const {
  return core_->log().end();
}

// --- a subscription ---------------------------------------------------------------------------

Subscription::Subscription(std::unique_ptr<SubscriptionCore> core) : core_(std::move(core)) {}
Subscription::~Subscription() = default;

const std::string& Subscription::name() const {
  return core_->name();
}
Result<std::vector<StreamedMessage>> Subscription::take(std::size_t max) {
  return core_->take(max);
}
Result<void> Subscription::settle(std::span<const Settlement> settlements) {
  return core_->settle(settlements);
}
bool Subscription::wait(milliseconds max) {
  return core_->wait(max);
}
void Subscription::wake() {
  core_->wake();
}
Result<void> Subscription::pause() {
  return core_->set_paused(true);
}
Result<void> Subscription::resume() {
  return core_->set_paused(false);
}
Result<std::uint64_t> Subscription::purge() {
  return core_->purge();
}
SubscriptionStatistics Subscription::statistics() {
  return core_->statistics();
}
Result<void> Subscription::visit_dead(const StreamVisitor& visitor) {
  return core_->visit_dead(visitor);
}
Result<std::uint64_t> Subscription::replay_dead() {
  return core_->replay_dead();
}
Result<std::uint64_t> Subscription::purge_dead() {
  return core_->purge_dead();
}

}  // namespace quarry::spool
