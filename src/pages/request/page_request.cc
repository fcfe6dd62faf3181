#include "page_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_head.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr std::size_t kMaxTargetInLog = 200;
constexpr std::string_view kSyncType = "application/x-fossil";

bool is_served(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "POST";
}

}  // namespace

std::string_view PageRequest::get(std::string_view name) const {
  for (const Parameter& each : parameters | std::views::reverse) {
    if (each.name == name) return each.value;
  }
  return {};
}

std::string_view PageRequest::path() const {
  const std::string_view info = get(parameter::kPathInfo);
  return info.empty() ? get(parameter::kScriptName) : info;
}

std::string_view PageRequest::target() const {
  const std::string_view uri = get(parameter::kRequestUri);
  return uri.empty() ? path() : uri;
}

void PageRequest::forget(std::string_view name) {
  std::erase_if(parameters, [&](const Parameter& each) { return each.name == name; });
}

void PageRequest::replace(std::string_view name, std::string value) {
  forget(name);
  parameters.emplace_back(std::string(name), std::move(value));
}

void PageRequest::replace_body(std::string type, std::string_view text) {
  evbuffer_drain(body.get(), evbuffer_get_length(body.get()));
  evbuffer_add(body.get(), text.data(), text.size());
  replace(parameter::kContentType, std::move(type));
}

bool PageRequest::is_head() const {
  return get(parameter::kRequestMethod) == "HEAD";
}

bool PageRequest::is_sync() const {
  if (get(parameter::kRequestMethod) != "POST") return false;
  const std::string_view type = get(parameter::kContentType);
  if (http::same_name(type.substr(0, kSyncType.size()), kSyncType)) return true;
  const std::string slashed = fmt::format("/{}/", path());
  return slashed.contains("/xfer/");
}

std::string PageRequest::in_words() const {
  return fmt::format("client {}: {} {}", base::printable(get(parameter::kRemoteAddress), 60),
                     base::printable(get(parameter::kRequestMethod), 20),
                     base::printable(base::without_secrets(target()), kMaxTargetInLog));
}

std::optional<Refusal> refuse_request(const PageRequest& request) {
  // Refuse values with a NUL byte, because fossil would interpret the bytes after it as further
  // parameters.
  const auto has_nul = [](const Parameter& each) { return each.value.contains('\0'); };
  if (std::ranges::any_of(request.parameters, has_nul)) {
    return Refusal{400, "a header or the URL contains a NUL byte"};
  }
  if (!is_served(request.get(parameter::kRequestMethod))) {
    return Refusal{405, "this method is not supported",
                   fmt::format("Allow: {}\r\n", http::kAllowedMethods)};
  }
  if (!http::is_host(request.get(parameter::kHost))) {
    return Refusal{400, "the Host header is malformed"};
  }
  // Refuse syncs that Quarry's sync server does not support, because fossil would serve them
  // without the workers' limits.
  if (request.is_sync()) return Refusal{415, "this kind of sync request is not supported here"};
  return std::nullopt;
}

}  // namespace quarry::pages
