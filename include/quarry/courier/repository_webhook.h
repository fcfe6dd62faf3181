// The webhooks that a repository contains:
//
//   config   quarry-webhook:NAME   {"url": …, "events": […], "format": …, "secret": …}
//
// A user with the setup capability can write these rows, so their content is not trusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/courier/options.h"

namespace quarry::courier {

inline constexpr const char* kWebhookRow = "quarry-webhook:";
/// Maximum number of webhooks of a repository. Further rows are ignored.
inline constexpr std::size_t kMaxRepositoryWebhooks = 20;

struct RepositoryWebhook {
  std::string name = {};
  std::string url = {};
  std::vector<std::string> events = {};  // like DestinationOptions::events, with Batch::kPush
  std::string format = "json";           // a name in kFormats
  std::string secret = {};               // "": requests are not signed
};

/// Checks the limits on WEBHOOK. Errors: kInvalid, kLimit. The message does not contain the secret.
Result<void> check(const RepositoryWebhook& webhook);
/// Returns the webhook NAME whose row contains TEXT. Errors: the same as for check().
Result<RepositoryWebhook> parse_repository_webhook(std::string_view name, std::string_view text);
/// Returns the content of WEBHOOK's row.
std::string row_of(const RepositoryWebhook& webhook);
/// Returns the options with which an event is delivered to WEBHOOK.
DestinationOptions options_of(const RepositoryWebhook& webhook);

}  // namespace quarry::courier
