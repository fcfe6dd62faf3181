#include "webhooks.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "quarry/courier/repository_webhook.h"
#include "quarry/event/event.h"

namespace quarry::backoffice {
namespace {

std::vector<courier::RepositoryWebhook> webhooks_in(repository::Repository& repository) {
  std::vector<courier::RepositoryWebhook> webhooks;
  auto settings = repository.settings();
  std::size_t rows = 0;
  for (const std::string& row : settings.names_with(courier::kWebhookRow)) {
    if (rows++ == courier::kMaxRepositoryWebhooks) break;
    const auto text = settings.get(row);
    const std::string name = row.substr(std::string_view(courier::kWebhookRow).size());
    auto webhook = courier::parse_repository_webhook(name, text.value_or(""));
    if (webhook) webhooks.push_back(std::move(*webhook));
  }
  return webhooks;
}

}  // namespace

EventBatch webhook_events(const EventBatch& events, repository::Repository& repository,
                          const PublishOptions& options) {
  if (!options.webhooks || events.size() == 0) return {};
  const auto webhooks = webhooks_in(repository);
  if (webhooks.empty()) return {};
  EventBatch batch(repository, options);
  for (const spool::NewMessage& message : events.messages()) {
    const auto event = event::parse(message.content);
    if (!event || !std::holds_alternative<event::Push>(event->record)) continue;
    for (const courier::RepositoryWebhook& each : webhooks) {
      if (!courier::is_for(courier::options_of(each), *event)) continue;
      batch.add(fmt::format("webhook/{}/{}", each.name, message.key),
                event::RepositoryWebhook{.name = each.name,
                                         .url = each.url,
                                         .format = each.format,
                                         .secret = each.secret,
                                         .event = message.content},
                event->head.time);
    }
  }
  return batch;
}

}  // namespace quarry::backoffice
