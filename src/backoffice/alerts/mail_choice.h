// Decides who is notified of what, by a subscriber's wishes and capabilities. Pure functions.
#pragma once

#include <string_view>

#include "quarry/repository/alerts.h"

namespace quarry::backoffice {

/// Whether SUBSCRIBER should be notified of ALERT.
///
/// A subscriber's letters select: c check-ins, f posts, t tickets, w wiki pages, x edits of posts;
/// and, as in later versions of fossil, n posts that start a thread and r replies to the
/// subscriber's own posts. Events that wait for moderation are for moderators only; others for
/// users who may read that type.
bool should_notify(const repository::Subscriber& subscriber, const repository::PendingAlert& alert);

/// Whether a user with CAPABILITIES may see EVENT.
bool may_see(std::string_view capabilities, const repository::AlertReference& event);

}  // namespace quarry::backoffice
