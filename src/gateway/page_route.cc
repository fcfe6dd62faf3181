#include "page_route.h"

#include <algorithm>
#include <array>

#include "quarry/base/blanks.h"
#include "quarry/base/split.h"
#include "quarry/http/syntax.h"

namespace quarry::gateway {
namespace {

constexpr auto kForms = std::to_array<std::string_view>(
    {"application/x-www-form-urlencoded", "multipart/form-data", "application/json"});

bool is_form(std::string_view content_type) {
  const std::string_view type = base::trim_blanks(content_type.substr(0, content_type.find(';')));
  return std::ranges::any_of(kForms,
                             [&](std::string_view form) { return http::same_name(form, type); });
}

/// Returns whether any word in PATH might be an endpoint of the pool. "queue.json" counts as
/// "queue".
bool has_endpoint(std::string_view path) {
  while (!path.empty()) {
    const std::string_view word = base::take_until(path, '/');
    if (word == "xfer" || word.substr(0, word.find('.')) == "queue") return true;
  }
  return false;
}

}  // namespace

bool is_certainly_page(std::string_view method, std::string_view path,
                       std::string_view content_type) {
  if (has_endpoint(path)) return false;
  return method == "GET" || method == "HEAD" || (method == "POST" && is_form(content_type));
}

}  // namespace quarry::gateway
