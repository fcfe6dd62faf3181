#include "quarry/courier/repository_webhook.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quarry/base/escape.h"

namespace quarry::courier {
namespace {

constexpr std::size_t kMaxRow = std::size_t{16} << 10;
constexpr std::size_t kMaxUrl = 2048;
constexpr std::size_t kMaxSecret = 1024;
constexpr std::size_t kMaxTypes = 20;
// Short, because the number of concurrent deliveries is limited.
constexpr std::chrono::milliseconds kTimeout{10'000};

}  // namespace

Result<void> check(const RepositoryWebhook& webhook) {
  QUARRY_TRY(check_destination_name(webhook.name));
  if (webhook.url.size() > kMaxUrl || webhook.secret.size() > kMaxSecret ||
      webhook.events.size() > kMaxTypes) {
    return fail(ErrorCode::kLimit,
                "a webhook is limited to {} bytes of URL, {} bytes of secret and {} event types",
                kMaxUrl, kMaxSecret, kMaxTypes);
  }
  QUARRY_TRY(check_webhook_url(webhook.url));
  for (const std::string& each : webhook.events) {
    const bool is_of_push = event::covers_type(each, "push") || each.starts_with("artifact.");
    if (is_of_push && event::covers_any_type(each)) continue;
    return fail(ErrorCode::kInvalid,
                "\"{}\" is not push or a type of artifact; see quarry-events(7)",
                base::printable(each));
  }
  const auto is_it = [&](const auto& format) { return format.first == webhook.format; };
  if (std::ranges::any_of(kFormats, is_it)) return {};
  return fail(ErrorCode::kInvalid, "\"{}\" is not one of json, slack, discord, mattermost, teams",
              base::printable(webhook.format));
}

Result<RepositoryWebhook> parse_repository_webhook(std::string_view name, std::string_view text) {
  const auto invalid =
      fail(ErrorCode::kInvalid,
           "the row is not a JSON object with the strings url, format and secret, and "
           "the list of strings events");
  if (text.size() > kMaxRow) return invalid;
  try {
    const auto row = nlohmann::json::parse(text);
    RepositoryWebhook webhook{.name = std::string(name), .url = row.at("url")};
    if (row.contains("events")) webhook.events = row["events"];
    webhook.format = row.value("format", webhook.format);
    webhook.secret = row.value("secret", webhook.secret);
    QUARRY_TRY(check(webhook));
    return webhook;
  } catch (const nlohmann::json::exception&) {
    return invalid;
  }
}

std::string row_of(const RepositoryWebhook& webhook) {
  nlohmann::json row = {{"url", webhook.url}, {"format", webhook.format}};
  if (!webhook.events.empty()) row["events"] = webhook.events;
  if (!webhook.secret.empty()) row["secret"] = webhook.secret;
  return row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

DestinationOptions options_of(const RepositoryWebhook& webhook) {
  DestinationOptions options{.name = webhook.name,
                             .type = DestinationType::kWebhook,
                             .events = webhook.events,
                             .batch = Batch::kPush,
                             .timeout = kTimeout,
                             .url = webhook.url};
  const auto at =
      std::ranges::find(kFormats, webhook.format, &std::pair<std::string_view, Format>::first);
  if (at != kFormats.end()) options.format = at->second;
  return options;
}

}  // namespace quarry::courier
