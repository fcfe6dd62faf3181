#include "destination.h"

#include <fmt/core.h>

#include <exception>
#include <variant>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/time.h"
#include "senders/senders.h"

namespace quarry::courier {
namespace {

using base::LogLevel;
using Clock = std::chrono::steady_clock;
using spool::Outcome;
using spool::Settlement;
using std::chrono::milliseconds;

constexpr std::size_t kMaxTaken = 64;
/// Limits on unsettled events: their number and their age. If the process is killed, unsettled
/// events are delivered again.
constexpr std::size_t kMaxUnsettled = 32;
constexpr milliseconds kMaxUnsettledTime{100};
constexpr milliseconds kAfterTrouble{2000};
constexpr milliseconds kAfterNoSender{10'000};
constexpr milliseconds kIdle{60'000};

/// Returns the sender for DESTINATION's type. Errors: a file that the sender needs cannot be read.
/// A later call might succeed.
Result<std::unique_ptr<Sender>> sender_for(const CourierOptions& courier,
                                           const DestinationOptions& destination,
                                           Interrupted is_interrupted) {
  switch (destination.type) {
    case DestinationType::kWebhook:
      return make_webhook_sender(destination, std::move(is_interrupted));
    case DestinationType::kMail:
      return make_mail_sender(destination, std::move(is_interrupted));
    case DestinationType::kProgram:
      return make_program_sender(destination, std::move(is_interrupted));
    case DestinationType::kSyslog:
    case DestinationType::kJournald:
      return make_log_sender(destination);
    case DestinationType::kFile:
      return make_file_sender(destination, std::move(is_interrupted));
    case DestinationType::kHooks:
      return make_hook_sender(courier, std::move(is_interrupted));
    case DestinationType::kLoki:
    case DestinationType::kOpenSearch:
    case DestinationType::kJsonLines:
    case DestinationType::kRepositoryWebhooks:
    case DestinationType::kNone:
      break;
  }
  return fail(ErrorCode::kInvalid, "the type of the destination is missing");
}

}  // namespace

Delivery record_of(const spool::StreamedMessage& message, std::string_view type,
                   const DeliveryResult& result, Clock::time_point begin) {
  return {.id = message.id,
          .attempts = message.attempts,
          .type = std::string(type),
          .time = base::system_clock().now(),
          .duration = std::chrono::duration_cast<milliseconds>(Clock::now() - begin),
          .status = result.status,
          .error = result.outcome == Outcome::kDone ? std::string() : result.why,
          .response = base::printable(result.response, result.response.size())};
}

spool::SubscriptionOptions subscription_options(const DestinationOptions& options) {
  spool::SubscriptionOptions subscription;
  subscription.in_order = options.in_order;
  subscription.window = options.window;
  subscription.max_attempts = options.max_attempts;
  subscription.retry.base = options.retry_delay;
  subscription.retry.max = options.retry_max_delay;
  // Dead letters of repositories' webhooks would fill the disk, and nobody but the administrator of the
  // repository could replay them.
  subscription.keeps_dead_letters = options.type != DestinationType::kRepositoryWebhooks;
  return subscription;
}

Destination::Destination(const CourierOptions& courier, DestinationOptions options,
                         std::shared_ptr<spool::Subscription> subscription)
    : courier_(courier),
      options_(std::move(options)),
      subscription_(std::move(subscription)),
      deliveries_(deliveries_folder(courier.spool_directory, options_.name), kKeptDeliveries) {}

Destination::~Destination() {
  stop();
  interrupt();
  if (thread_.joinable()) thread_.join();
}

void Destination::start() {
  thread_ = std::thread([this] {
    try {
      run();
    } catch (const std::exception& error) {
      base::log(LogLevel::kError, "[{}] stopped: {}", options_.name, error.what());
    }
    has_ended_ = true;
  });
}

void Destination::reopen() {
  wants_reopening_ = true;
  subscription_->wake();
}

void Destination::stop() {
  is_stopping_ = true;
  subscription_->wake();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Destination::interrupt() {
  is_interrupted_ = true;
}

bool Destination::ends_slowly() const {
  return options_.type == DestinationType::kProgram || options_.type == DestinationType::kHooks ||
         options_.type == DestinationType::kRepositoryWebhooks || !options_.sendmail.empty();
}

void Destination::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return is_stopping_.load(); });
}

bool Destination::make_sender() {
  auto sender = sender_for(courier_, options_, [this] { return is_interrupted_.load(); });
  if (sender) {
    sender_ = std::move(*sender);
    return true;
  }
  base::log(LogLevel::kError, "[{}] {}; its events wait until this is fixed", options_.name,
            sender.error().message);
  pause(kAfterNoSender);
  return false;
}

Destination::Messages Destination::next() {
  auto taken = subscription_->take(kMaxTaken);
  if (!taken) {
    base::log(LogLevel::kError, "[{}] {}", options_.name, taken.error().message);
    pause(kAfterTrouble);
    return {};
  }
  if (taken->empty()) subscription_->wait(kIdle);
  return std::move(*taken);
}

void Destination::run() {
  if (options_.type == DestinationType::kRepositoryWebhooks) {
    webhooks_ = std::make_unique<RepositoryWebhooks>(courier_, subscription_,
                                                     [this] { return is_interrupted_.load(); });
  }
  while (webhooks_ && !is_stopping_) {
    for (const spool::StreamedMessage& message : next()) webhooks_->deliver(message);
  }
  webhooks_.reset();
  while (!is_stopping_) {
    if (!sender_ && !make_sender()) continue;
    if (wants_reopening_.exchange(false)) sender_->reopen();
    const Messages messages = next();
    if (!messages.empty()) deliver_all(messages);
  }
}

Settlement Destination::deliver(const spool::StreamedMessage& message) {
  const auto event = event::parse(message.content);
  if (!event) return {message.sequence, Outcome::kGivenUp, event.error().message};
  const auto* wanted = std::get_if<event::Replay>(&event->record);
  if (wanted != nullptr && wanted->destination == options_.name) return replay(message);
  const auto* again = std::get_if<event::Redeliver>(&event->record);
  const bool is_redelivery = again != nullptr && again->destination == options_.name;
  if (!is_redelivery && !is_for(options_, *event)) return {message.sequence, Outcome::kSkipped};
  const DeliveryResult result =
      is_redelivery ? redeliver(message, again->id) : attempt(message, *event);
  Settlement settlement{message.sequence, result.outcome, result.why, result.delay};
  log_outcome(message, settlement);
  return settlement;
}

DeliveryResult Destination::attempt(const spool::StreamedMessage& message,
                                    const event::Event& event) {
  DeliveryResult result;
  const auto begin = Clock::now();
  delivering_since_ = begin;
  try {
    result = sender_->deliver({message, event});
  } catch (const std::exception& error) {
    result = retry_later(error.what());
  }
  delivering_since_ = Clock::time_point::max();
  if (result.outcome != Outcome::kReturned) record(message, event, result, begin);
  return result;
}

DeliveryResult Destination::redeliver(const spool::StreamedMessage& message, std::uint64_t id) {
  const auto folder = deliveries_folder(courier_.spool_directory, options_.name);
  const auto kept = read_delivery(folder, id);
  if (!kept) return give_up(kept.error().message);
  const auto event = event::parse(kept->event);
  if (!event) return give_up(fmt::format("event {} is too long to be kept", id));
  spool::StreamedMessage copy = message;
  copy.id = id;
  copy.content = kept->event;
  return attempt(copy, *event);
}

/// Records a delivery by webhook, mail or program. Files and logs get too many events, and show
/// them anyway.
void Destination::record(const spool::StreamedMessage& message, const event::Event& event,
                         const DeliveryResult& result, Clock::time_point begin) {
  if (options_.type != DestinationType::kWebhook && options_.type != DestinationType::kMail &&
      options_.type != DestinationType::kProgram) {
    return;
  }
  Delivery record = record_of(message, event::type_of(event), result, begin);
  if (message.content.size() <= kMaxKeptEvent) record.event = message.content;
  const auto recorded = deliveries_.add(record);
  if (recorded || is_recording_failed_) return;
  is_recording_failed_ = true;
  base::log(LogLevel::kWarning, "[{}] cannot record deliveries: {}", options_.name,
            recorded.error().message);
}

Settlement Destination::replay(const spool::StreamedMessage& message) {
  const auto count = subscription_->replay_dead();
  if (!count) return {message.sequence, Outcome::kRetry, count.error().message};
  base::log(LogLevel::kNotice, "[{}] {} dead letters were returned to the queue", options_.name,
            *count);
  return {message.sequence, Outcome::kSkipped};
}

/// Logs only the first of several consecutive failures. After the next success, logs the number of
/// failures.
void Destination::log_outcome(const spool::StreamedMessage& message, const Settlement& settlement) {
  switch (settlement.outcome) {
    case Outcome::kReturned:
    case Outcome::kSkipped:
      return;
    case Outcome::kDone:
      if (failures_ > 0) {
        base::log(LogLevel::kNotice, "[{}] delivery works again after {} failure{}", options_.name,
                  failures_, failures_ == 1 ? "" : "s");
      }
      failures_ = 0;
      return;
    case Outcome::kGivenUp:
      base::log(LogLevel::kError, "[{}] gave up on event {}: {}", options_.name, message.id,
                settlement.error);
      return;
    case Outcome::kRetry:
      break;
  }
  if (options_.max_attempts != 0 && message.attempts >= options_.max_attempts) {
    base::log(LogLevel::kError, "[{}] gave up on event {} after {} attempts: {}", options_.name,
              message.id, message.attempts, settlement.error);
  } else if (failures_++ == 0) {
    base::log(LogLevel::kWarning, "[{}] event {}: {}; will be retried", options_.name, message.id,
              settlement.error);
  }
}

void Destination::deliver_all(const Messages& messages) {
  std::vector<Settlement> settlements;
  Clock::time_point settled_at = Clock::now();
  bool is_held_back = false;
  for (const spool::StreamedMessage& message : messages) {
    const bool is_tried = !is_held_back && !is_stopping_;
    settlements.push_back(is_tried ? deliver(message)
                                   : Settlement{message.sequence, Outcome::kReturned});
    if (options_.in_order && settlements.back().outcome == Outcome::kRetry) is_held_back = true;
    if (settlements.size() < kMaxUnsettled && Clock::now() - settled_at < kMaxUnsettledTime) {
      continue;
    }
    settle(settlements);
    settled_at = Clock::now();
  }
  settle(settlements);
}

void Destination::settle(std::vector<Settlement>& settlements) {
  if (settlements.empty()) return;
  if (const auto finished = sender_->finish(); !finished) {
    base::log(LogLevel::kError, "[{}] {}", options_.name, finished.error().message);
    for (Settlement& each : settlements) {
      if (each.outcome == Outcome::kDone) {
        each = {each.sequence, Outcome::kRetry, finished.error().message};
      }
    }
  }
  for (;;) {
    const auto settled = subscription_->settle(settlements);
    // Do not retry after kNoSpace. The settlements are then not on disk, but this process uses them
    // until it exits.
    if (settled || settled.error().code == ErrorCode::kNoSpace) break;
    base::log(LogLevel::kError, "[{}] {}", options_.name, settled.error().message);
    if (is_stopping_) break;
    pause(kAfterTrouble);
  }
  settlements.clear();
}

}  // namespace quarry::courier
