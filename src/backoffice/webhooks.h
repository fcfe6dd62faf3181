// Events for the webhooks that a repository contains (courier/repository_webhook.h).
#pragma once

#include "event_batch.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// Returns an event for each push in EVENTS and each webhook of REPOSITORY that wants it. Rows that
/// are not valid are ignored. Returns an empty batch if OPTIONS.webhooks is null. Requires a
/// Snapshot.
EventBatch webhook_events(const EventBatch& events, repository::Repository& repository,
                          const PublishOptions& options);

}  // namespace quarry::backoffice
