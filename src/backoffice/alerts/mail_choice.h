// Who is told of what: by what a subscriber wants, and by what he may see. Pure functions.
#pragma once

#include <string_view>

#include "quarry/repository/alerts.h"

namespace quarry::backoffice {

/// Whether SUBSCRIBER is told of ALERT.
///
/// Wanted is what stands in the letters: c check-ins, f posts, t tickets, w wiki pages, x new
/// versions of posts; and, as later versions of fossil have it, n posts that begin a thread and r
/// answers to one's own. What waits for a moderator is for moderators alone; the rest for who may
/// read its kind.
bool should_notify(const repository::Subscriber& subscriber, const repository::PendingAlert& alert);

/// Whether who has CAPABILITIES may see EVENT.
bool may_see(std::string_view capabilities, const repository::AlertReference& event);

}  // namespace quarry::backoffice
