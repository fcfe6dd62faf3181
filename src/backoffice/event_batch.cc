#include "event_batch.h"

#include <fmt/core.h>

#include <span>

namespace quarry::backoffice {
namespace {

// Limits on a request, because the receiver keeps requests in memory. A message that exceeds the
// limits is sent in a separate request.
constexpr std::size_t kMaxMessages = 500;
constexpr std::size_t kMaxBytes = spool::kMaxHandOver / 8;

/// Returns how many of MESSAGES are sent in one request; at least one.
std::size_t portion_of(std::span<const spool::NewMessage> messages) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const spool::NewMessage& message : messages) {
    bytes += message.content.size() + message.key.size();
    if (count == kMaxMessages || (count > 0 && bytes > kMaxBytes)) break;
    ++count;
  }
  return count;
}

}  // namespace

EventBatch::EventBatch(repository::Repository& repository, const PublishOptions& options)
    : now_(repository.options().clock->now()) {
  auto settings = repository.settings();
  head_ = {.key = {},
           .time = now_,
           .project_code = settings.project_code(),
           .project_name = settings.get("project-name").value_or(""),
           .repository = options.name,
           .url = settings.get("email-url").value_or("")};
}

void EventBatch::add(const std::string& key, event::Record record, base::UnixMillis time) {
  event::Event event{.head = head_, .record = std::move(record)};
  event.head.key = fmt::format("{}/{}", head_.project_code, key);
  event.head.time = time;
  messages_.push_back({.content = event::to_message(event), .key = event.head.key});
}

Result<void> EventBatch::hand_over(const spool::HandOver& courier) const {
  std::span<const spool::NewMessage> messages(messages_);
  while (!messages.empty()) {
    const std::size_t count = portion_of(messages);
    QUARRY_TRY(courier.hand_over(messages.first(count)));
    messages = messages.subspan(count);
  }
  return {};
}

}  // namespace quarry::backoffice
