// quarry courier test NAME: sends an event to a single destination, and waits for the result.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "common/exit_codes.h"
#include "common/report.h"
#include "courier_spool.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/event/event.h"
#include "quarry/spool/hand_over.h"
#include "quarry/spool/stream.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHandOverTime{10'000};
constexpr milliseconds kLook{50};

/// The message ID, if it is among those that VISIT shows.
template <typename Visit>
Result<std::optional<spool::StreamedMessage>> find(std::uint64_t id, Visit&& visit) {
  std::optional<spool::StreamedMessage> found;
  QUARRY_TRY(visit([&](const spool::StreamedMessage& message) {
    if (message.id == id) found = message;
    return !found;
  }));
  return found;
}

Result<std::uint64_t> hand_over(const courier::CourierConfig& config, const std::string& name) {
  const base::UnixMillis now = base::system_clock().now();
  event::Event event;
  event.head.key = fmt::format("test/{}/{}/{}", name, now.value, ::getpid());
  event.head.time = now;
  event.record = event::Test{name, "This is a test of the destination " + name + "."};
  const spool::NewMessage message{event::to_message(event), event.head.key};
  return spool::HandOver(config.options.socket, kHandOverTime).hand_over({&message, 1});
}

/// Why NAME receives nothing, according to the courier's files.
std::string last_error(const courier::CourierConfig& config, const std::string& name) {
  const auto status = spool::stream_status(spool_of(config));
  if (!status) return {};
  const auto at =
      std::ranges::find(status->subscriptions, name, &spool::SubscriptionStatistics::name);
  if (at == status->subscriptions.end() || at->last_error.empty()) return {};
  return fmt::format(" ({} wait; the last error: {})", at->waiting,
                     base::printable(at->last_error));
}

Result<void> wait_for(const courier::CourierConfig& config, const std::string& name,
                      std::uint64_t id, milliseconds max_wait) {
  const auto spool = spool_of(config);
  const auto end = Clock::now() + max_wait;
  for (;;) {
    QUARRY_TRY_ASSIGN(const auto waiting, find(id, [&](const spool::StreamVisitor& visitor) {
                        return spool::visit_stream(spool, name, visitor, report);
                      }));
    if (!waiting) break;
    if (Clock::now() > end) {
      return fail(ErrorCode::kBusy, fmt::format("event {} is still waiting for {}{}", id, name,
                                                last_error(config, name)));
    }
    std::this_thread::sleep_for(kLook);
  }
  QUARRY_TRY_ASSIGN(const auto dead, find(id, [&](const spool::StreamVisitor& visitor) {
                      return spool::visit_dead_letters(spool, name, visitor, report);
                    }));
  if (!dead) return {};
  return fail(ErrorCode::kIo,
              fmt::format("{} does not take event {}: {}", name, id, base::printable(dead->error)));
}

Result<void> test(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto config, courier_config_of(arguments));
  const auto at = std::ranges::find(config.destinations, name, &courier::DestinationOptions::name);
  if (at == config.destinations.end()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{} has no [destination {}]", arguments.config, base::printable(name)));
  }
  const auto id = hand_over(config, name);
  if (!id) {
    return fail(id.error().code, fmt::format("the courier does not take the event: {}: is it "
                                             "running?",
                                             id.error().message));
  }
  const auto max_wait = milliseconds(static_cast<std::int64_t>(arguments.timeout * 1000));
  QUARRY_TRY(wait_for(config, name, *id, max_wait));
  fmt::print("{} has event {}\n", name, *id);
  return {};
}

}  // namespace

int run_courier_test(const CourierArguments& arguments) {
  const auto done = test(arguments);
  return done ? kDone : failed(done.error());
}

}  // namespace quarry::app
