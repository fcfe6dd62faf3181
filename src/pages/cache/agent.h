// Who reads a page, as far as fossil makes different ones for them: robots get no links, phones get
// other widths. Of each kind one agent is what fossil is told, so that all of a kind share a page.
#pragma once

#include <optional>
#include <string_view>

namespace quarry::pages {

enum class Agent { kRobot, kPhone, kBrowser };

/// Nothing: it is not sure what fossil takes USER_AGENT for.
std::optional<Agent> agent_of(std::string_view user_agent);
/// The one that stands for all of its kind.
std::string_view canonical(Agent agent);

}  // namespace quarry::pages
