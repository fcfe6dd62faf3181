// Kinds of user agent for which fossil makes different pages: robots get no links, phones get other
// widths. All agents of a kind share a cached page, for which fossil sees one canonical agent.
#pragma once

#include <optional>
#include <string_view>

namespace quarry::pages {

enum class Agent { kRobot, kPhone, kBrowser };

/// Nullopt: unsure how fossil would classify USER_AGENT.
std::optional<Agent> agent_of(std::string_view user_agent);
/// The agent that stands for its kind.
std::string_view canonical(Agent agent);

}  // namespace quarry::pages
