// Decides whether a subscriber is notified of an event. The decision depends on the subscriber's
// choices and capabilities. Pure functions.
#pragma once

#include <string_view>

#include "quarry/repository/alerts.h"

namespace quarry::backoffice {

/// Returns whether SUBSCRIBER should be notified of ALERT.
///
/// The subscriber's letters select events: c check-ins, f posts, t tickets, w wiki pages, x edits
/// of posts. As in later versions of fossil, n selects posts that start a thread, and r selects
/// replies to the subscriber's own posts. Only moderators are notified of events that wait for
/// moderation. All other events require the capability to read events of the same type.
bool should_notify(const repository::Subscriber& subscriber, const repository::PendingAlert& alert);

bool may_see(std::string_view capabilities, const repository::AlertReference& event);

}  // namespace quarry::backoffice
