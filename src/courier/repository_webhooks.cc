#include "repository_webhooks.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <variant>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/time.h"
#include "quarry/courier/repository_webhook.h"
#include "quarry/courier/webhook_test.h"
#include "senders/senders.h"

namespace quarry::courier {
namespace {

using base::LogLevel;
using spool::Outcome;
using spool::Settlement;
using std::chrono::milliseconds;

constexpr unsigned kMaxInFlight = 16;
constexpr unsigned kMaxInFlightOfRepository = 2;
constexpr milliseconds kWhileBusy{500};
constexpr milliseconds kFirstPause{1000};
constexpr milliseconds kLongestPause{600'000};
constexpr std::chrono::hours kMaxAge{6};
// Maximum number of receivers to remember. A receiver with failures would otherwise be remembered
// forever, even after its webhook was removed.
constexpr std::size_t kMaxReceivers = 10'000;

milliseconds pause_after(unsigned failures) {
  const unsigned doublings = std::min(failures, 20U) - 1;
  return std::min(kFirstPause * (1U << doublings), kLongestPause);
}

}  // namespace

RepositoryWebhooks::RepositoryWebhooks(const CourierOptions& courier,
                                       std::shared_ptr<spool::Subscription> subscription,
                                       Interrupted is_interrupted)
    : subscription_(std::move(subscription)),
      is_interrupted_(std::move(is_interrupted)),
      deliveries_(deliveries_folder(courier.spool_directory, kWebhooksName), kKeptOfWebhooks) {
  // The configuration has been checked, so the rules are valid. Otherwise, allow public addresses.
  if (auto rules = AddressRules::parse(courier.webhooks_allow)) rules_ = std::move(*rules);
}

RepositoryWebhooks::~RepositoryWebhooks() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return in_flight_ == 0; });
}

void RepositoryWebhooks::deliver(const spool::StreamedMessage& message) {
  auto event = event::parse(message.content);
  const auto* webhook = event ? std::get_if<event::RepositoryWebhook>(&event->record) : nullptr;
  if (webhook == nullptr) return settle({message.sequence, Outcome::kSkipped});
  const std::string repository = event->head.project_code + "/" + event->head.repository;
  const std::string receiver = fmt::format("{}\n{}\n{}", repository, webhook->name, webhook->url);
  auto job = std::make_shared<const Job>(Job{message, std::move(*event), repository, receiver});
  const milliseconds delay = enter(*job);
  if (delay.count() > 0) return settle({message.sequence, Outcome::kRetry, "", delay});
  try {
    std::thread([this, job] { run(*job); }).detach();
  } catch (const std::exception& error) {
    settle(leave(*job, retry_later(error.what())));
  }
}

milliseconds RepositoryWebhooks::enter(const Job& job) {
  const std::lock_guard lock(mutex_);
  const auto at = receivers_.find(job.receiver);
  if (at != receivers_.end()) {
    if (at->second.is_busy) return kWhileBusy;
    const auto left = at->second.paused_until - Clock::now();
    if (left.count() > 0) return std::chrono::ceil<milliseconds>(left);
  }
  unsigned& of_repository = in_flight_of_[job.repository];
  if (in_flight_ >= kMaxInFlight || of_repository >= kMaxInFlightOfRepository) {
    if (of_repository == 0) in_flight_of_.erase(job.repository);
    return kWhileBusy;
  }
  ++in_flight_;
  ++of_repository;
  receivers_[job.receiver].is_busy = true;
  return milliseconds(0);
}

void RepositoryWebhooks::run(const Job& job) {
  DeliveryResult result;
  const auto begin = Clock::now();
  try {
    result = attempt(job);
  } catch (const std::exception& error) {
    result = retry_later(error.what());
  }
  record(job, result, begin);
  settle(leave(job, result));
  const std::lock_guard lock(mutex_);
  --in_flight_;
  // Notify under the lock, because the destructor might otherwise destroy ended_ first.
  ended_.notify_all();
}

void RepositoryWebhooks::record(const Job& job, const DeliveryResult& result,
                                Clock::time_point begin) {
  if (result.outcome == Outcome::kReturned) return;
  const std::string& name = std::get<event::RepositoryWebhook>(job.event.record).name;
  Delivery record = record_of(job.message, "push", result, begin);
  record.webhook = job.event.head.repository + " " + name;
  const std::lock_guard lock(mutex_);
  // The list only informs people, so an error must not prevent deliveries.
  (void)deliveries_.add(record);
}

DeliveryResult RepositoryWebhooks::attempt(const Job& job) const {
  const auto& [name, url, format, secret, content] =
      std::get<event::RepositoryWebhook>(job.event.record);
  const RepositoryWebhook webhook{.name = name, .url = url, .format = format, .secret = secret};
  if (const auto checked = check(webhook); !checked) return give_up(checked.error().message);
  const auto event = event::parse(content);
  if (!event) return give_up(event.error().message);
  spool::StreamedMessage message = job.message;
  message.content = content;
  const auto sender =
      make_repository_webhook_sender(options_of(webhook), secret, rules_, is_interrupted_);
  return sender->deliver({message, *event});
}

Settlement RepositoryWebhooks::leave(const Job& job, const DeliveryResult& result) {
  const auto& webhook = std::get<event::RepositoryWebhook>(job.event.record);
  Settlement settlement{job.message.sequence, result.outcome, result.why, result.delay};
  const std::lock_guard lock(mutex_);
  if (--in_flight_of_[job.repository] == 0) in_flight_of_.erase(job.repository);
  Receiver& receiver = receivers_[job.receiver];
  receiver.is_busy = false;
  if (result.outcome != Outcome::kRetry) {
    receivers_.erase(job.receiver);
  } else {
    const milliseconds pause = std::max(
        pause_after(++receiver.failures),
        std::min(result.delay.value_or(milliseconds(0)), milliseconds(std::chrono::hours(1))));
    receiver.paused_until = Clock::now() + pause;
    settlement.delay = pause;
    if (receivers_.size() > kMaxReceivers) {
      std::erase_if(receivers_, [](const auto& each) { return !each.second.is_busy; });
    }
  }
  const milliseconds age(base::system_clock().now().value - job.message.taken_at.value);
  const bool is_too_old = result.outcome == Outcome::kRetry && age > kMaxAge;
  if (is_too_old) settlement.outcome = Outcome::kGivenUp;
  if (settlement.outcome == Outcome::kGivenUp || job.message.attempts == 1) {
    if (!result.why.empty()) {
      base::log(LogLevel::kWarning, "[webhooks] {} {}: {}{}",
                base::printable(job.event.head.repository), base::printable(webhook.name),
                result.why,
                settlement.outcome == Outcome::kGivenUp ? "; the event was dropped"
                                                        : "; will be retried");
    }
  }
  return settlement;
}

Result<WebhookResponse> test_webhook(const RepositoryWebhook& webhook, const AddressRules& rules) {
  const base::UnixMillis now = base::system_clock().now();
  const event::Event event{
      .head = {.key = fmt::format("test/{}/{}", webhook.name, now.value), .time = now},
      .record = event::Test{webhook.name, "This is a test of the webhook " + webhook.name + "."}};
  const spool::StreamedMessage message{.taken_at = now, .content = event::to_message(event)};
  const auto sender = make_repository_webhook_sender(options_of(webhook), webhook.secret, rules,
                                                     [] { return false; });
  const DeliveryResult result = sender->deliver({message, event});
  if (result.outcome != Outcome::kDone) return fail(ErrorCode::kIo, "{}", result.why);
  return WebhookResponse{result.status, result.response};
}

void RepositoryWebhooks::settle(const Settlement& settlement) {
  if (const auto settled = subscription_->settle({&settlement, 1}); !settled) {
    base::log(LogLevel::kError, "[webhooks] {}", settled.error().message);
  }
}

}  // namespace quarry::courier
