#include <fmt/core.h>

#include <vector>

#include "portions.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/event/event.h"
#include "redaction.h"

namespace quarry::backoffice {

base::Result<void> publish_failures(repository::Repository& repository,
                                    const PublishOptions& options,
                                    const std::vector<Failure>& failed) {
  std::vector<spool::NewMessage> messages;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
    for (const Failure& failure : failed) {
      event::Event event{
          .head = head_of(repository, options),
          .record = event::BackofficeFailure{
              failure.job, redact(failure.error.message, options.path, options.name)}};
      event.head.key = fmt::format("{}/failure/{}/{}", event.head.project_code, failure.job,
                                   event.head.time.value);
      messages.push_back({.content = event::to_message(event), .key = event.head.key});
    }
  }
  return hand_over_all(*options.courier, messages);
}

}  // namespace quarry::backoffice
