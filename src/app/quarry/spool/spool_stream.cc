#include "spool_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/report.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "spool_text.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using spool::StreamedMessage;
using spool::SubscriptionStatistics;

nlohmann::json time_or_null(const std::optional<base::UnixMillis>& time) {
  return time ? nlohmann::json(base::iso_millis(*time)) : nlohmann::json();
}

nlohmann::json json_of(const SubscriptionStatistics& one) {
  return {{"name", one.name},
          {"waiting", one.waiting},
          {"in_hand", one.in_flight},
          {"postponed", one.postponed},
          {"oldest", time_or_null(one.oldest)},
          {"head_attempts", one.head_attempts},
          {"delivered", one.delivered},
          {"given_up", one.given_up},
          {"dead", one.dead},
          {"unreadable", one.unreadable},
          {"paused", one.is_paused},
          // May contain any bytes.
          {"last_error", base::printable(one.last_error)},
          {"last_error_at", time_or_null(one.last_error_at)}};
}

nlohmann::json json_of(const StreamedMessage& message) {
  nlohmann::json line = {{"number", message.id},
                         {"severity", message.severity},
                         {"taken_at", base::iso_millis(message.taken_at)},
                         {"key", base::printable(message.key)}};
  if (message.attempts > 0) line["attempts"] = message.attempts;
  if (!message.error.empty()) line["error"] = base::printable(message.error);
  add_bytes(line, message.content);
  return line;
}

void print_subscriptions(const spool::StreamStatus& status) {
  Table table({"SUBSCRIPTION", ">WAITING", ">OLDEST", ">TRIES", ">DELIVERED", ">DEAD", "STATE",
               ">AGO", "LAST ERROR"});
  for (const SubscriptionStatistics& one : status.subscriptions) {
    table.add({one.name, std::to_string(one.waiting), age(one.oldest),
               std::to_string(one.head_attempts), std::to_string(one.delivered),
               std::to_string(one.dead), one.is_paused ? "paused" : "", age(one.last_error_at),
               one.last_error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

/// Prints the messages that ARGUMENTS select as SHOW formats them.
template <typename Show>
Result<void> show_stream(const SpoolArguments& arguments, Show&& show) {
  const auto visitor = [&](const StreamedMessage& message) { return print(show(message)); };
  if (arguments.dead.empty()) return spool::visit_stream(spool_of(arguments), "", visitor, report);
  return spool::visit_dead_letters(spool_of(arguments), arguments.dead, visitor, report);
}

/// The subscription of STREAM that --dead names; does not create it.
Result<std::shared_ptr<spool::Subscription>> named(spool::Stream& stream,
                                                   const SpoolArguments& arguments) {
  const auto names = stream.subscriptions();
  if (std::ranges::find(names, arguments.dead) != names.end()) {
    return stream.subscribe(arguments.dead);
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("{}: there is no subscription {}", arguments.folder, arguments.dead));
}

Result<std::unique_ptr<spool::Stream>> open(const SpoolArguments& arguments) {
  if (arguments.dead.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: of a stream only dead letters are replayed or purged (--dead)",
                            arguments.folder));
  }
  return spool::Stream::open({.location = spool_of(arguments)}, report);
}

}  // namespace

Result<void> show_stream_status(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto status, spool::stream_status(spool_of(arguments)));
  if (arguments.as_json) {
    nlohmann::json all = {{"messages", status.messages},
                          {"bytes", status.bytes},
                          {"segments", status.segments},
                          {"held", status.is_held},
                          {"subscriptions", nlohmann::json::array()}};
    for (const auto& one : status.subscriptions) all["subscriptions"].push_back(json_of(one));
    fmt::print("{}\n", all.dump());
    return {};
  }
  fmt::print("messages:  {}\nbytes:     {}\nsegments:  {}\n", status.messages, status.bytes,
             status.segments);
  fmt::print("in use by: {}\n\n", status.is_held ? "who delivers" : "nobody");
  print_subscriptions(status);
  return {};
}

Result<void> list_stream(const SpoolArguments& arguments) {
  const bool is_dead = !arguments.dead.empty();
  return show_stream(arguments, [is_dead](const StreamedMessage& message) {
    const std::string why =
        is_dead ? fmt::format("{} tries: {}: ", message.attempts, base::printable(message.error))
                : std::string();
    return fmt::format("{:>8} {} {:>8} {}{}\n", message.id, message.severity,
                       message.content.size(), why,
                       base::printable(message.content, kShownContent));
  });
}

Result<void> export_stream(const SpoolArguments& arguments) {
  const char end = arguments.is_null ? '\0' : '\n';
  return show_stream(arguments, [&](const StreamedMessage& message) {
    if (arguments.as_json) return json_of(message).dump() + "\n";
    return message.content + end;
  });
}

Result<void> replay_stream(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto stream, open(arguments));
  QUARRY_TRY_ASSIGN(const auto subscription, named(*stream, arguments));
  QUARRY_TRY_ASSIGN(const std::uint64_t count, subscription->replay_dead());
  fmt::print("{} messages wait for {} again\n", count, subscription->name());
  return {};
}

Result<void> purge_stream(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto stream, open(arguments));
  QUARRY_TRY_ASSIGN(const auto subscription, named(*stream, arguments));
  QUARRY_TRY_ASSIGN(const std::uint64_t count, subscription->purge_dead());
  fmt::print("{} messages were removed\n", count);
  return {};
}

}  // namespace quarry::app
