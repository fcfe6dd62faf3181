// Decides which requests can be answered from the cache, and with which key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

/// The address of the client for which a shared page is made. No client has this address, because
/// RFC 5737 reserves it for documentation.
constexpr std::string_view kSharedAddress = "192.0.2.47";

/// The kinds of user agents for which fossil makes different pages: robots get pages without links,
/// and phones get pages with other widths. All agents of a kind share a cached page.
enum class Agent { kRobot, kPhone, kBrowser };

/// Returns the kind of USER_AGENT, or nullopt if fossil's classification is uncertain.
std::optional<Agent> agent_of(std::string_view user_agent);
/// Returns the user agent for which the shared page of AGENT is made.
std::string_view canonical(Agent agent);

/// Returns the key of REQUEST for TARGET. The key contains all properties of the request on which
/// the page depends, but not the state of files. Returns nullopt if fossil has to make the page:
/// the user might be logged in, the request might change data, or the page might differ between
/// users.
std::optional<std::string> cache_key(const PageRequest& request, const Target& target,
                                     bool trust_remote_user);

/// Returns whether making PAGE changes the state of the repository (repository_state.h). Clients
/// that wait for such a page share it, but a cached copy would never be found, because its key
/// contains the earlier state.
bool changes_state(std::string_view page);

/// Returns a copy of REQUEST with only the parameters in its key, for a page that many clients
/// share. The client's address and user agent are replaced.
PageRequest anonymous(const PageRequest& request);

}  // namespace quarry::pages
