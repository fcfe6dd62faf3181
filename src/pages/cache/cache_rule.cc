#include "cache_rule.h"

#include <algorithm>
#include <array>

#include "agent.h"
#include "quarry/http/parameters.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr char kUserAgent[] = "HTTP_USER_AGENT";
constexpr std::size_t kMaxKey = 2000;

// Fossil's pages that show the repository's content and nothing about the client. None that asks
// for a login, makes a captcha or has a form other than for searching.
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

// Parameters on which a page may depend.
constexpr auto kKeptParameters = std::to_array<std::string_view>(
    {parameter::kRequestScheme, parameter::kHttps, parameter::kHost, parameter::kServerName,
     parameter::kServerPort, parameter::kScriptName, parameter::kPathInfo, parameter::kRequestUri,
     parameter::kQueryString});

}  // namespace

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
  add(parameter::kRemoteAddress, request.get(parameter::kRemoteAddress));
  if (const auto agent = agent_of(request.get(kUserAgent))) add(kUserAgent, canonical(*agent));
  return asked;
}

}  // namespace quarry::pages
