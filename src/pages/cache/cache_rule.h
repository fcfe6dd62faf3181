// Decides which requests may be answered from the cache, and with which key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

/// Kinds of user agent for which fossil makes different pages: robots get no links, phones get
/// other widths. All agents of a kind share a cached page, which is made for one canonical agent.
enum class Agent { kRobot, kPhone, kBrowser };

/// Returns nullopt if it is not certain how fossil would classify USER_AGENT.
std::optional<Agent> agent_of(std::string_view user_agent);
/// Returns the user agent that represents its kind.
std::string_view canonical(Agent agent);

/// Returns the key of REQUEST for TARGET, which contains everything that its page depends on,
/// except files. Returns nullopt if fossil must make the page because a user may be logged in,
/// because the request may change something, or because the page is not known to be the same for
/// everybody.
std::optional<std::string> cache_key(const PageRequest& request, const Target& target,
                                     bool trust_remote_user);

/// Returns a copy of REQUEST with only the parameters that its key contains, for a page that many
/// clients share.
PageRequest anonymous(const PageRequest& request);

}  // namespace quarry::pages
