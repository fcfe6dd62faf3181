#include "page_request.h"

#include <fmt/core.h>

#include <ranges>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr std::size_t kMaxTargetInLog = 200;
constexpr std::string_view kSyncType = "application/x-fossil";

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

}  // namespace quarry::pages
