#include "refusal.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "quarry/base/escape.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_head.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

bool is_served(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "POST";
}

/// A failed login in fossil's JSON API, whatever the reason. TEXT is our own and needs no escaping.
std::string json_reply(std::string_view text) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format(R"({{"timestamp":{},"resultCode":"FOSSIL-2100","resultText":"{}"}})",
                     std::chrono::duration_cast<std::chrono::seconds>(now).count(), text);
}

}  // namespace

std::optional<Refusal> refused_as_it_is(const PageRequest& request) {
  if (!is_served(request.get(parameter::kRequestMethod))) {
    return Refusal{405, "this method is not served here",
                   fmt::format("Allow: {}\r\n", http::kAllowedMethods)};
  }
  if (!http::is_host(request.get(parameter::kHost))) {
    return Refusal{400, "the Host header is malformed"};
  }
  // Fossil would serve a sync without the limits that workers enforce.
  if (request.is_sync()) return Refusal{415, "this kind of sync request is not supported here"};
  return std::nullopt;
}

OwnReply own_reply(const Refusal& refusal, const PageRequest& request, bool is_json) {
  const std::string_view reason = http::reason_phrase(refusal.status);
  const bool is_page = !is_json && http::prefers_html(request.get("HTTP_ACCEPT"));
  OwnReply reply;
  std::string_view type = is_page ? http::kPageType : "text/plain; charset=utf-8";
  if (is_json) {
    type = "application/json; charset=utf-8";
    reply.body = json_reply(refusal.text);
  } else if (is_page) {
    reply.body = http::error_page(refusal.status, refusal.text);
  } else {
    reply.body = fmt::format("{} {}: {}\n", refusal.status, reason, refusal.text);
  }
  reply.head = fmt::format("Status: {} {}\r\nContent-Type: {}\r\n{}{}Content-Length: {}\r\n\r\n",
                           refusal.status, reason, type,
                           is_page ? http::web_page_headers() : "Cache-Control: no-store\r\n",
                           refusal.headers, reply.body.size());
  if (request.is_head()) reply.body.clear();
  return reply;
}

}  // namespace quarry::pages
