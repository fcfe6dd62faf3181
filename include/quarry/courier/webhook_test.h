// Sends a test event to a webhook of a repository, as `quarry webhook test` does.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "quarry/courier/address_rules.h"
#include "quarry/courier/repository_webhook.h"

namespace quarry::courier {

struct WebhookResponse {
  long status = 0;
  std::string beginning;  // of the body
};
/// Sends a test event to WEBHOOK. Connects only to addresses that RULES allow. Errors: kIo (the
/// receiver does not respond, or not with a status from 200 to 299).
Result<WebhookResponse> test_webhook(const RepositoryWebhook& webhook, const AddressRules& rules);

}  // namespace quarry::courier
