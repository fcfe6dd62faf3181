#include "agent.h"

#include <algorithm>
#include <array>
#include <string>

namespace quarry::pages {
namespace {

bool holds_any(std::string_view text, auto words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.contains(word); });
}

/// Whether TEXT contains NAME followed by a version; returns what follows.
std::string_view after_version(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + name.size());
  return rest.empty() || rest[0] < '1' || rest[0] > '9' ? std::string_view() : rest;
}

bool is_browser(std::string_view text) {
  return !after_version(text, "Firefox/").empty() || !after_version(text, "Chrome/").empty() ||
         after_version(text, "AppleWebKit/").contains("(KHTML");
}

}  // namespace

std::optional<Agent> agent_of(std::string_view user_agent) {
  constexpr auto kOfRobots = std::to_array<std::string_view>({"bot", "spider", "crawl", "http"});
  constexpr auto kOfPhones =
      std::to_array<std::string_view>({"Android", "Mobile", "iPhone", "iPad", "iPod"});
  constexpr auto kOthers =
      std::to_array<std::string_view>({"Opera/", "Safari/", "Lynx/", "NetSurf/"});
  if (holds_any(user_agent, kOfRobots)) return Agent::kRobot;
  const bool is_other = std::ranges::any_of(
      kOthers, [&](std::string_view name) { return user_agent.starts_with(name); });
  if (is_other) return std::nullopt;
  if (!user_agent.starts_with("Mozilla/")) return Agent::kRobot;
  const bool is_known = user_agent.starts_with("Mozilla/5.0 (") && is_browser(user_agent) &&
                        user_agent.find("Mozilla/", 1) == std::string_view::npos;
  if (!is_known) return std::nullopt;
  return holds_any(user_agent, kOfPhones) ? Agent::kPhone : Agent::kBrowser;
}

std::string_view canonical(Agent agent) {
  switch (agent) {
    case Agent::kRobot:
      return "robot";
    case Agent::kPhone:
      return "Mozilla/5.0 (Linux; Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0";
    case Agent::kBrowser:
      return "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
  }
  return {};
}

}  // namespace quarry::pages
