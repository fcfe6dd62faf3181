#include "cache_rule.h"

#include <algorithm>
#include <array>

#include "quarry/http/parameters.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr char kUserAgent[] = "HTTP_USER_AGENT";
constexpr std::size_t kMaxKey = 2000;

// Fossil's pages that show only the repository's content. Pages that ask for a login, contain a
// captcha, or have a form other than a search form are not in the list.
constexpr auto kPages = std::to_array<std::string_view>(
    {"",           "annotate", "artifact",     "attachlist",  "attachview",  "background",
     "blame",      "brlist",   "builtin",      "ci",          "dir",         "doc",
     "download",   "event",    "favicon.ico",  "fdiff",       "file",        "fileage",
     "finfo",      "forum",    "forummain",    "forumpost",   "forumthread", "help",
     "hexdump",    "home",     "index",        "info",        "leaves",      "logo",
     "md_rules",   "mlink",    "praise",       "raw",         "reportlist",  "rptview",
     "secureraw",  "sitemap",  "style.css",    "tagtimeline", "taglist",     "technote",
     "ticket",     "timeline", "timeline.rss", "tinfo",       "tkthistory",  "tkttimeline",
     "tktview",    "tree",     "uv",           "uvlist",      "vdiff",       "vinfo",
     "vpatch",     "wcontent", "wdiff",        "whistory",    "whatis",      "wiki",
     "wiki_rules", "winfo"});

// Pages that fossil makes in a transaction with temporary tables. Whenever such a transaction
// changes a temporary table, fossil also records in the repository when the server's URL was last
// used.
constexpr auto kWritingPages =
    std::to_array<std::string_view>({"annotate", "blame", "doc", "praise"});

// Parameters on which a page can depend.
constexpr auto kKeptParameters = std::to_array<std::string_view>(
    {parameter::kRequestScheme, parameter::kHttps, parameter::kHost, parameter::kServerName,
     parameter::kServerPort, parameter::kScriptName, parameter::kPathInfo, parameter::kRequestUri,
     parameter::kQueryString});

bool contains_any(std::string_view text, auto words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.contains(word); });
}

/// Returns the text after NAME if TEXT contains NAME followed by a version.
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
  constexpr auto kRobotWords = std::to_array<std::string_view>({"bot", "spider", "crawl", "http"});
  // Fossil treats user agents with this word, including some tablets, as phones.
  constexpr std::string_view kPhoneWord = "Mobi";
  constexpr auto kUnknownAgents =
      std::to_array<std::string_view>({"Opera/", "Safari/", "Lynx/", "NetSurf/"});
  if (contains_any(user_agent, kRobotWords)) return Agent::kRobot;
  const bool is_other = std::ranges::any_of(
      kUnknownAgents, [&](std::string_view name) { return user_agent.starts_with(name); });
  if (is_other) return std::nullopt;
  if (!user_agent.starts_with("Mozilla/")) return Agent::kRobot;
  // Fossil before 2.24 does not treat GoogleOther as a robot, so its kind is uncertain.
  const bool is_known = user_agent.starts_with("Mozilla/5.0 (") && is_browser(user_agent) &&
                        user_agent.find("Mozilla/", 1) == std::string_view::npos &&
                        !user_agent.contains("GoogleOther");
  if (!is_known) return std::nullopt;
  return user_agent.contains(kPhoneWord) ? Agent::kPhone : Agent::kBrowser;
}

std::string_view canonical(Agent agent) {
  switch (agent) {
    case Agent::kRobot:
      return "quarry-shared-robot";
    case Agent::kPhone:
      return "Mozilla/5.0 (Linux; Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0";
    case Agent::kBrowser:
      return "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
  }
  return {};
}

std::optional<std::string> cache_key(const PageRequest& request, const Target& target,
                                     bool trust_remote_user) {
  const std::string_view method = request.get(parameter::kRequestMethod);
  if (method != "GET" && method != "HEAD") return std::nullopt;
  if (evbuffer_get_length(request.body.get()) > 0) return std::nullopt;
  const bool is_known = !request.get(parameter::kCookie).empty() ||
                        !request.get("HTTP_AUTHORIZATION").empty() ||
                        (trust_remote_user && !request.get(parameter::kRemoteUser).empty());
  if (is_known || std::ranges::find(kPages, target.page) == kPages.end()) return std::nullopt;
  const auto agent = agent_of(request.get(kUserAgent));
  if (!agent) return std::nullopt;
  std::string key(canonical(*agent));
  for (const std::string_view name : kKeptParameters) {
    key += '\n';
    key += request.get(name);
  }
  if (key.size() > kMaxKey) return std::nullopt;
  return key;
}

bool changes_state(std::string_view page) {
  return std::ranges::find(kWritingPages, page) != kWritingPages.end();
}

PageRequest anonymous(const PageRequest& request) {
  PageRequest asked{.parameters = {{parameter::kRequestMethod, "GET"}},
                    .body = base::EventBufferPtr(evbuffer_new())};
  const auto add = [&](std::string_view name, std::string_view value) {
    asked.parameters.push_back({std::string(name), std::string(value)});
  };
  for (const std::string_view name : kKeptParameters) {
    if (!request.get(name).empty()) add(name, request.get(name));
  }
  add(parameter::kServerProtocol, request.get(parameter::kServerProtocol));
  add(parameter::kRemoteAddress, kSharedAddress);
  if (const auto agent = agent_of(request.get(kUserAgent))) add(kUserAgent, canonical(*agent));
  return asked;
}

}  // namespace quarry::pages
