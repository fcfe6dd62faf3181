// Decides who is notified of which event, by a subscriber's choices and capabilities. Pure
// functions.
#pragma once

#include <string_view>

#include "quarry/repository/alerts.h"

namespace quarry::backoffice {

/// Returns whether SUBSCRIBER should be notified of ALERT.
///
/// The subscriber's letters select events: c check-ins, f posts, t tickets, w wiki pages, x edits
/// of posts; and, as in later versions of fossil, n posts that start a thread and r replies to the
/// subscriber's own posts. Events that wait for moderation are only for moderators; other events
/// are for users who may read events of that type.
bool should_notify(const repository::Subscriber& subscriber, const repository::PendingAlert& alert);

/// Returns whether a user with CAPABILITIES may see EVENT.
bool may_see(std::string_view capabilities, const repository::AlertReference& event);

}  // namespace quarry::backoffice
